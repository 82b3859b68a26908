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

for (const link of document.querySelectorAll("nav a")) {
  if (!link.hash && link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}

const viewer = document.getElementById("viewer");
SwaggerUIBundle({
  domNode: viewer,
  url: viewer.dataset.document,
  plugins: [here, exact],
  // Otherwise a validator of strangers would be told.
  validatorUrl: null,
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  showCommonExtensions: true,
  defaultModelsExpandDepth: 0,
  // What the page links, below a long introduction.
  onComplete: () => viewer.querySelector(".scheme-container").setAttribute("id", "operations"),
});
