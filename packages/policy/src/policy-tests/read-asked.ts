// SPDX-License-Identifier: Apache-2.0
// Parses a request described as data, such as the body of a query. It has the form of a request in a policy test; any
// other form is rejected with the name of the field.

import { Field, Report } from "../resources/field.js"
import type { AskedRequest } from "../trial/asked.js"
import { AskedError } from "../trial/asked-error.js"
import { readRequest } from "./test-file.js"

/** Throws `AskedError`. */
export function readAsked(value: unknown): AskedRequest {
  const report = new Report()
  const asked = readRequest(new Field(value ?? {}, ["request"], report))
  const [error] = report.errors
  if (error !== undefined) throw new AskedError(error.message)
  return asked
}
