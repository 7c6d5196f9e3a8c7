// SPDX-License-Identifier: Apache-2.0
// A request that is described in data of somebody else, as the body of a question: read as policy tests are, and refused by
// name where it has another form.

import { Field, Report } from "../resources/field.js"
import type { AskedRequest } from "../trial/asked.js"
import { AskedError } from "../trial/asked-error.js"
import { readRequest } from "./test-file.js"

/** Throws `AskedError`. */
export function readAsked(value: unknown): AskedRequest {
  const report = new Report()
  const asked = readRequest(new Field(value ?? {}, ["request"], report))
  const [fault] = report.faults
  if (fault !== undefined) throw new AskedError(fault.message)
  return asked
}
