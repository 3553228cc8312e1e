/** Make an element; texts are set as texts, never as markup. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child != null));
  return element;
}

export const text = (tag, words, className = "") => make(tag, { textContent: words, className });

export const json = value => JSON.stringify(value, null, 2);
