// SPDX-License-Identifier: Apache-2.0
// Syntax checks of names, labels and similar texts, with Kubernetes' error messages. Each check returns the errors, or
// an empty list.

const LABEL_KEY_MESSAGE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const DNS1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
const CONFIG_KEY =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

const bytes = (text: string): number => Buffer.byteLength(text)

export function subdomainErrors(name: string): string[] {
  const out: string[] = []
  if (name.length > 253) out.push("must be no more than 253 characters")
  // For a name that is too long, only its characters are checked.
  if (name.length <= 253 ? !subdomain.test(name) : !/^[a-z0-9.-]*$/.test(name)) out.push(SUBDOMAIN)
  return out
}

export function labelErrors(name: string): string[] {
  const out: string[] = []
  if (name.length > 63) out.push("must be no more than 63 characters")
  if (!label.test(name)) out.push(subdomain.test(name) && name.includes(".") ? "must not contain dots" : LABEL)
  return out
}

export function dns1035Errors(name: string): string[] {
  const out: string[] = []
  if (name.length > 63) out.push("must be no more than 63 characters")
  if (!/^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) out.push(DNS1035)
  return out
}

/** Names that only need to be a valid path segment, such as those of RBAC objects. */
export function pathSegmentErrors(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`]
  return ["/", "%"].filter(c => name.includes(c)).map(c => `may not contain '${c}'`)
}

export function labelValueErrors(value: string): string[] {
  const out: string[] = []
  if (bytes(value) > 63) out.push("must be no more than 63 bytes")
  if (!/^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(value)) out.push(LABEL_VALUE)
  return out
}

export function qualifiedNameErrors(value: string): string[] {
  const parts = value.split("/")
  const out: string[] = []
  let name = value
  if (parts.length === 2) {
    const [prefix = "", rest = ""] = parts
    name = rest
    if (prefix === "") out.push("prefix part must be non-empty")
    else out.push(...subdomainErrors(prefix).map(message => `prefix part ${message}`))
  } else if (parts.length > 2) {
    return [
      `a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  if (name === "") out.push("name part must be non-empty")
  else if (bytes(name) > 63) out.push("name part must be no more than 63 bytes")
  if (!/^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/.test(name)) out.push(LABEL_KEY_MESSAGE)
  return out
}

export function configKeyErrors(key: string): string[] {
  const out: string[] = []
  if (key.length > 253) out.push("must be no more than 253 characters")
  if (!/^[-._a-zA-Z0-9]+$/.test(key)) out.push(CONFIG_KEY)
  if (key === ".") out.push("must not be '.'")
  else if (key === "..") out.push("must not be '..'")
  else if (key.startsWith("..")) out.push("must not start with '..'")
  return out
}

export function portNameErrors(name: string): string[] {
  const out: string[] = []
  if (bytes(name) > 15) out.push("must be no more than 15 bytes")
  if (!/^[-a-z0-9]+$/.test(name)) out.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
  else if (!/[a-z]/.test(name)) out.push("must contain at least one letter (a-z)")
  if (name.includes("--")) out.push("must not contain consecutive hyphens")
  if (name !== "" && /^[-]|[-]$/.test(name)) out.push("must not begin or end with a hyphen")
  return out
}

export function portErrors(port: number | bigint): string[] {
  return port >= 1 && port <= 65535 ? [] : ["must be between 1 and 65535, inclusive"]
}
export type NameCheckLike = (name: string) => string[]
