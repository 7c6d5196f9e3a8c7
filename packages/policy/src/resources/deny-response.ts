// SPDX-License-Identifier: Apache-2.0
// `denyResponse`: the response to requests that a policy denies. It is a fixed text of bounded size, so it repeats
// nothing of a request. Its status always denies: gateways take a success status for an allowance, and a 5xx for a
// failure of the authorizer.

import type { MeshNames } from "../mesh/names.js"
import { shown } from "./document-error.js"
import type { Field } from "./field.js"
import { FIELD_NAME, isWritableHeader } from "./header-name.js"
import { closed, list, optional, type TypeOf, text, whole } from "./schema.js"

const MAX_BODY = 4_096
const MAX_HEADERS = 16
const MAX_VALUE = 1_024
/** A 304 has no content, and tells the caller that its cached response is still valid. */
const NOT_MODIFIED = 304
const ASCII_TEXT = "^[\\t\\n\\r -~]*$"
/** RFC 9110 section 5.5: visible characters, with spaces between them. */
const HEADER_VALUE = "^[!-~]([ !-~]*[!-~])?$"

const header = closed(
  {
    name: text({
      description: "Header name.",
      minLength: 1,
      maxLength: 256,
      pattern: FIELD_NAME,
      "x-fix": "write a header name such as `location`",
    }),
    value: text({
      description: "Its value, in ASCII.",
      minLength: 1,
      maxLength: MAX_VALUE,
      pattern: HEADER_VALUE,
      "x-fix": "write ASCII without line breaks, and without blanks at the ends",
    }),
  },
  { description: "One header of the response." },
)

export const denyResponse = (which: string) =>
  closed(
    {
      status: optional(
        whole({
          description: "HTTP status, not 304. Absent, the status that the denial has anyway.",
          minimum: 300,
          maximum: 499,
          format: "int32",
          "x-kubernetes-validations": [{ rule: `self != ${NOT_MODIFIED}`, message: "304 does not deny a request" }],
          "x-fix": "write a status that denies, for example 403, or 302 with a `location` header",
        }),
      ),
      body: optional(
        text({
          description: "Content of the response, in ASCII. Absent, the text that the denial has anyway.",
          maxLength: MAX_BODY,
          pattern: ASCII_TEXT,
          "x-fix": "write ASCII text; HTML and JSON have escapes for other characters",
        }),
      ),
      headers: optional(list(header, { description: "Headers of the response.", maxItems: MAX_HEADERS })),
    },
    { description: which },
  )

export type DenyResponse = TypeOf<ReturnType<typeof denyResponse>>

export function checkDenyResponse(response: Field, { decisionHeader, failureHeader }: MeshNames): void {
  const status = response.field("status")
  if (status.value === NOT_MODIFIED) {
    status.error("bad-value", "304 does not deny a request", "write a status that denies, for example 403")
  }
  const seen = new Set<string>()
  for (const name of response.field("headers").items.map(item => item.field("name"))) {
    const lowerCase = name.text?.toLowerCase()
    if (lowerCase === undefined || lowerCase === "") continue
    // A second `grpc-status` would report a different outcome to gRPC callers.
    const isOfProxy = [decisionHeader, failureHeader, "date"].includes(lowerCase) || lowerCase.startsWith("grpc-")
    if (!isWritableHeader(lowerCase) || isOfProxy) {
      const problem = `the header \`${shown(lowerCase)}\` belongs to HTTP itself or to the proxy and cannot be set`
      name.error("bad-value", problem, "write another header, such as `location`")
    } else if (seen.has(lowerCase)) {
      name.error("conflict", `the header \`${shown(lowerCase)}\` is there twice`, "remove one of the two")
    }
    seen.add(lowerCase)
  }
}
