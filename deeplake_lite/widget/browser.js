// The page of the browser: asks Python for what is in sight, and draws it.
/** @param {{model: any, el: HTMLElement}} of */
function render({ model, el }) {
  el.classList.add("dl-browser");
  const show = () => { el.textContent = `${model.get("about").title}: ${model.get("state").rows} rows`; };
  model.on("change:state", show);
  show();
}
export default { render };
