"""Jobs. A job computes columns or rows, on all cores or many machines, and can be resumed.

`api` checks the arguments (`request`), and plans the job (`plan`): the version that it reads, its
rows, and the parts into which they are cut (`places`). If the function returns rows, it opens the
lake for them (`new_lake`). The driver (`driver`) hands parts to an executor (`executors`). Workers
compute them (`work`, `outputs`) and write the results (`segments`) to the branch of the job's
journal (`journal`). At the end, the results (`results`) are committed to the branch of the dataset
(`publish`) or to the new lake (`publish_rows`), with a record of the job (`record`, `functions`).
From the records, and those of copies (`copied`), `origins` finds the `origin` of a column, and
`chain` the lineage of a view. `job` describes a running job, and `listing` describes all jobs.
"""

from deeplake_lite.map.api import map_rows
from deeplake_lite.map.chain import lineage_of, record_copy
from deeplake_lite.map.driver import Mapped
from deeplake_lite.map.job import Job, Progress
from deeplake_lite.map.listing import JobInfo, jobs
from deeplake_lite.map.origin import Origin
from deeplake_lite.map.origins import Recorded, find_origin

__all__ = [
    "Job",
    "JobInfo",
    "Mapped",
    "Origin",
    "Progress",
    "Recorded",
    "find_origin",
    "jobs",
    "lineage_of",
    "map_rows",
    "record_copy",
]
