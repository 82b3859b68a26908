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

for (const link of document.querySelectorAll("nav a")) {
  if (link.pathname === location.pathname) link.setAttribute("aria-current", "page");
}

const viewer = document.getElementById("viewer");
SwaggerUIBundle({
  domNode: viewer,
  url: viewer.dataset.document,
  plugins: [here],
  // Otherwise a validator of strangers would be told.
  validatorUrl: null,
  deepLinking: true,
  tryItOutEnabled: true,
  displayRequestDuration: true,
  showCommonExtensions: true,
  defaultModelsExpandDepth: 0,
});
