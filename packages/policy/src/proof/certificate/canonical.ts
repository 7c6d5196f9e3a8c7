// SPDX-License-Identifier: Apache-2.0

/** JSON with sorted names and without whitespace. It uses loops because a certificate names thousands of rules. */
export function canonical(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  let text = ""
  if (Array.isArray(value)) {
    for (const one of value) text += `${text === "" ? "" : ","}${canonical(one)}`
    return `[${text}]`
  }
  const members = value as { readonly [name: string]: unknown } // neither null nor a list, as just tested
  for (const name of Object.keys(members).sort()) {
    const member = members[name]
    if (member !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${canonical(member)}`
  }
  return `{${text}}`
}
