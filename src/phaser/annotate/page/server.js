// Talks to the server: reads, and changes that are sent one after the other.

export class Refused extends Error {
  constructor(status, message) { super(message); this.status = status; }
}

async function answered(response) {
  let value = {};
  try { value = await response.json(); } catch { /* an answer in plain text says nothing to keep */ }
  if (!response.ok) throw new Refused(response.status, value.error || `the server answered ${response.status}`);
  return value;
}

export async function read(path) {
  return answered(await fetch(path, { credentials: "same-origin" }));
}

export async function change(path, body) {
  const response = await fetch(path, {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return answered(response);
}
