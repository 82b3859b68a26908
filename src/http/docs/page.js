// Shows the document that the page names, and sends what is tried to the server that the page came from.
"use strict";

// A document is the same everywhere. On this page, it differs in two things:
// 1. Its server is a variable with an example for a default. Here the server is known.
// 2. Swagger UI fills in the examples of parameters. Optional ones are left to the reader: the first try of a list must
//    not ask for what comes after an example of a cursor.
const adapted = (published) => {
  const api = structuredClone(published);
  api.servers = [{ url: location.origin, description: "This server." }];
  for (const parameter of Object.values(api.components?.parameters ?? {})) {
    if (!parameter.required) delete parameter.example;
  }
  return api;
};

const here = () => ({
  statePlugins: {
    spec: { wrapActions: { updateJsonSpec: (update) => (published) => update(adapted(published)) } },
  },
});

// The JSON of an answer, laid out to be read, with every number as the server wrote it: JavaScript would round it. Nothing
// where the browser is too old to tell how a number was written, or the text is no JSON.
const exactly = (text) => {
  if (!JSON.rawJSON) return null;
  const asWritten = (_, value, { source }) => (typeof value === "number" ? JSON.rawJSON(source) : value);
  try {
    return JSON.stringify(JSON.parse(text, asWritten), null, 2);
  } catch {
    return null;
  }
};

const exact = ({ React, getComponent }) => ({
  wrapComponents: {
    responseBody: (Original) => (properties) => {
      const text = exactly(properties.content);
      if (text === null) return React.createElement(Original, properties);
      const options = { language: "json", canCopy: true, downloadable: true, fileName: "response.json" };
      const body = React.createElement(getComponent("HighlightCode", true), options, text);
      return React.createElement("div", null, React.createElement("h5", null, "Response body"), body);
    },
  },
});

for (const link of document.querySelectorAll("#documents a")) {
  if (!link.hash && link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}

// Swagger UI has dark colours of its own, below this class.
const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", colour);
colour();

const viewer = document.getElementById("viewer");

// A key is kept for this tab and this document: a reload asks for no second one, and no other tab or visit finds it.
const place = `authorization ${viewer.dataset.document}`;

const kept = () => {
  const keeping = (action, { authSelectors }) => (change) => {
    const result = action(change);
    const authorized = authSelectors.authorized();
    if (authorized?.size) sessionStorage.setItem(place, JSON.stringify(authorized));
    else sessionStorage.removeItem(place);
    return result;
  };
  return { statePlugins: { auth: { wrapActions: { authorize: keeping, logout: keeping } } } };
};

// The list beside the document: what it explains, and its operations.
const entry = (list, content, address, lead) => {
  const link = document.createElement("a");
  link.href = address;
  link.append(...content);
  link.addEventListener("click", (event) => {
    event.preventDefault();
    // Swagger UI listens, too, and would scroll to where the address leads by itself, which is nowhere.
    event.stopPropagation();
    lead();
  });
  list.append(link);
};

const heading = (list, text) => list.append(Object.assign(document.createElement("h2"), { textContent: text }));

const contents = () => {
  const list = document.getElementById("contents");
  heading(list, "Operations");
  for (const block of viewer.querySelectorAll(".opblock")) {
    const method = document.createElement("b");
    method.textContent = block.querySelector(".opblock-summary-method").textContent;
    method.className = method.textContent.toLowerCase();
    const summary = block.querySelector(".opblock-summary-description").textContent;
    // As Swagger UI writes it; it opens the operation when a page begins with it.
    const address = block.id.replace("operations-", "#/").replace("-", "/");
    entry(list, [method, summary], address, () => {
      if (!block.classList.contains("is-open")) block.querySelector(".opblock-summary-control").click();
      // Once it is open, which makes the page longer.
      requestAnimationFrame(() => block.scrollIntoView());
    });
  }
  heading(list, "About");
  for (const section of viewer.querySelectorAll(".info .description h2")) {
    entry(list, [section.textContent], "#", () => section.scrollIntoView());
  }
};

const ui = SwaggerUIBundle({
  domNode: viewer,
  url: viewer.dataset.document,
  plugins: [here, exact, kept],
  // Otherwise a validator of strangers would be told.
  validatorUrl: null,
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  showCommonExtensions: true,
  defaultModelsExpandDepth: 0,
  onComplete: () => {
    // What the page links, below a long introduction.
    viewer.querySelector(".scheme-container").setAttribute("id", "operations");
    contents();
    const saved = sessionStorage.getItem(place);
    if (saved) ui.authActions.authorize(JSON.parse(saved));
  },
});
