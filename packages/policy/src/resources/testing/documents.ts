// SPDX-License-Identifier: Apache-2.0
// Documents for tests: valid metadata around a spec, and two helpers that validate it.

import { expect } from "vitest"
import { meshNames } from "../../mesh/names.js"
import type { Kind } from "../document.js"
import { type Validation, validate } from "../validate.js"

export const NAMES = meshNames()

export function documentOf(kind: Kind, spec: unknown, metadata: object = {}): Record<string, unknown> {
  const group = kind === "MeshService" ? NAMES.networkingGroup : NAMES.securityGroup
  return { apiVersion: `${group}/v1alpha3`, kind, metadata: { name: "p", namespace: "foo", ...metadata }, spec }
}

/** An invalid spec, the path of its error, and a part of the message. */
export type Rejection = readonly [what: string, spec: unknown, path: string, message: string]

export function expectError(validation: Validation, path: string, message: string): void {
  const found = validation.errors.map(error => `${error.path} | ${error.message}`)
  expect(found.join("\n")).toContain(message)
  expect(
    validation.errors
      .filter(error => error.path === path)
      .map(error => error.message)
      .join("\n"),
  ).toContain(message)
  expect(validation.document).toBeUndefined()
}

export function expectWarning(validation: Validation, path: string, message: string): void {
  expect(validation.errors).toEqual([])
  expect(validation.document).toBeDefined()
  const found = validation.warnings.filter(warning => warning.path === path).map(warning => warning.message)
  expect(found.join("\n")).toContain(message)
}

export function expectClean(validation: Validation): void {
  expect(validation.errors).toEqual([])
  expect(validation.warnings).toEqual([])
  expect(validation.document).toBeDefined()
}

export function judge(kind: Kind, spec: unknown, metadata: object = {}): Validation {
  return validate(documentOf(kind, spec, metadata), NAMES)
}
