// Shows openapi.json: every route, what it takes and what it answers.

const routes = document.getElementById("routes");
const form = document.getElementById("token");

function element(name, ...children) {
  const made = document.createElement(name);
  made.append(...children);
  return made;
}

// Writes a schema as the JSON it stands for; names are followed once.
function sketch(schema, api, depth = 0) {
  if (!schema || depth > 6) return "…";
  if (schema.$ref) return sketch(api.components.schemas[schema.$ref.split("/").pop()], api, depth + 1);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  const several = schema.anyOf || schema.oneOf;
  if (several) return [...new Set(several.map((one) => sketch(one, api, depth + 1)))].join(" | ");
  if (schema.type === "array") return `[${sketch(schema.items, api, depth + 1)}]`;
  if (schema.type !== "object") return schema.type ?? "any";
  const pad = "  ".repeat(depth + 1);
  const lines = Object.entries(schema.properties ?? {}).map(([name, part]) => {
    const needed = (schema.required ?? []).includes(name) ? "" : "?";
    return `${pad}"${name}"${needed}: ${sketch(part, api, depth + 1)}`;
  });
  return lines.length ? `{\n${lines.join(",\n")}\n${"  ".repeat(depth)}}` : "{…}";
}

function bodyOf(content, api) {
  const json = content?.["application/json"];
  return json ? element("pre", sketch(json.schema, api)) : "";
}

function parametersOf(given) {
  if (!given?.length) return "";
  const rows = given.map((one) =>
    element("tr", element("th", element("code", one.name)), element("td", one.in),
      element("td", one.schema?.enum?.join(" | ") ?? one.schema?.type ?? ""),
      element("td", one.required ? "needed" : `default ${JSON.stringify(one.schema?.default)}`)));
  return element("table", ...rows);
}

function routeOf(path, method, what, api) {
  const kind = element("span", method.toUpperCase());
  kind.className = "method";
  const shown = element("details", element("summary", kind, element("code", path), ` ${what.summary ?? ""}`));
  shown.append(element("p", what.description ?? ""), parametersOf(what.parameters));
  if (what.requestBody) shown.append(element("h3", "takes"), bodyOf(what.requestBody.content, api));
  for (const [status, answer] of Object.entries(what.responses ?? {})) {
    if (status < "300") shown.append(element("h3", `answers ${status}`), bodyOf(answer.content, api));
  }
  return shown;
}

async function show(token) {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const answer = await fetch("openapi.json", { headers });
  form.hidden = answer.status !== 401;
  if (!answer.ok) {
    routes.replaceChildren(element("p", (await answer.json()).error));
    return;
  }
  const api = await answer.json();
  const all = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, what]) => routeOf(path, method, what, api)));
  routes.replaceChildren(...all);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show(form.querySelector("input").value);
});
show(sessionStorage.getItem("likewise-token"));
