// SPDX-License-Identifier: Apache-2.0
// Reads policy documents from a file: YAML or JSON, any number of documents, lists expanded. Every error and warning has
// line and column. Bounded work for any text.

import type { MeshNames } from "../mesh/names.js"
import type { DocumentError, Path, Position, Warning } from "./document-error.js"
import { listItems } from "./list-items.js"
import { type ValidateOptions, type Validation, validate } from "./validate.js"
import { parseYaml, type YamlDocument } from "./yaml-text.js"

export interface ReadOptions extends ValidateOptions {
  /** Longest accepted text, in characters; 1 Mi if absent. */
  readonly maxCharacters?: number
}

export interface ReadDocument extends Validation {
  /** The original value, for documents of other kinds; undefined if the text could not be read. */
  readonly value: unknown
  /** The position of a field of the document in the text. */
  locate(path: Path): Position | undefined
}

export function readDocuments(text: string, names: MeshNames, options: ReadOptions = {}): readonly ReadDocument[] {
  return parseYaml(text, options.maxCharacters).flatMap((document): readonly ReadDocument[] => {
    if (document.errors.length > 0)
      return [{ value: undefined, errors: document.errors, warnings: [], locate: () => undefined }]
    return listItems(document.value).map(({ value, at }) => {
      const validation = validate(value, names, options)
      return {
        ...validation,
        value,
        locate: (path: Path) => document.locate([...at, ...path], "value"),
        errors: validation.errors.map(error => placed(error, document, at)),
        warnings: validation.warnings.map(warning => placed(warning, document, at)),
      }
    })
  })
}

function placed<Found extends DocumentError | Warning>(found: Found, document: YamlDocument, base: Path): Found {
  const wanted = found.code === "unknown-field" || found.code === "unknown-metadata" ? "key" : "value"
  return { ...found, position: document.locate([...base, ...found.at], wanted) }
}
