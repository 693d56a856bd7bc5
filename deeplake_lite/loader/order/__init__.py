"""In which order rows come, and who gets which: functions of numbers, nothing is read."""
