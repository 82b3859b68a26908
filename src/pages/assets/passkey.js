// Passkeys: a form has the browser make one or sign by one, and is sent with what comes of it. Where no script runs, or a browser
// knows no passkeys, the button stays hidden, and a hint says why.
"use strict";

// A challenge is good for five minutes. An older page is sent without an answer, and comes back with another challenge.
const GOOD_FOR = 4.5 * 60 * 1000;

const WHY_NOT = {
  InvalidStateError: "This device has a passkey for your account already.",
  NotAllowedError: "No passkey was used: it was cancelled, or took too long.",
};

const ways = {
  create: (options) => navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  get: (options) => navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }),
};

async function answer(button) {
  const form = button.form;
  const told = form.querySelector("[role=alert]");
  told.className = "complaint";
  told.textContent = "";
  button.disabled = true;
  try {
    const isGood = performance.now() < GOOD_FOR;
    const options = JSON.parse(button.dataset.options);
    // Other fields that wait in the form for a confirmation may have the same name.
    form.querySelector("[data-answer]").value = isGood ? JSON.stringify(await ways[button.dataset.passkey](options)) : "";
    form.submit();
  } catch (error) {
    told.textContent = WHY_NOT[error.name] ?? `This browser cannot use the passkey (${error.name}).`;
    button.disabled = false;
    button.focus();
  }
}

// A page that the browser has kept has a button that was pressed, and a challenge that was spent.
window.addEventListener("pageshow", (event) => event.persisted && location.reload());

if (window.PublicKeyCredential?.parseRequestOptionsFromJSON) {
  for (const button of document.querySelectorAll("button[data-passkey]")) {
    button.hidden = button.disabled = false;
    button.form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!button.disabled) answer(button);
    });
  }
  for (const hint of document.querySelectorAll("[data-without-passkeys]")) hint.hidden = true;
}
