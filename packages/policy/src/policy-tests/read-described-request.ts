// SPDX-License-Identifier: Apache-2.0
// Parses a request described as data, such as the body of a query. It has the form of a request in a policy test; any
// other form is rejected with the name of the field.

import { Field, Report } from "../resources/field.js"
import type { DescribedRequest } from "../trial/described-request.js"
import { RequestDescriptionError } from "../trial/request-description-error.js"
import { readRequest } from "./test-file.js"

/** Throws `RequestDescriptionError`. */
export function readDescribedRequest(value: unknown): DescribedRequest {
  const report = new Report()
  const request = readRequest(new Field(value ?? {}, ["request"], report))
  const [error] = report.errors
  if (error !== undefined) throw new RequestDescriptionError(error.message)
  return request
}
