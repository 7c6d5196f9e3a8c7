// SPDX-License-Identifier: Apache-2.0
// A value with its path, for checks that continue after the first error. Reading a value of the wrong type returns
// nothing rather than an error: the structural check has reported it already.

import {
  type DocumentError,
  type DocumentErrorCode,
  finding,
  type Path,
  type Warning,
  type WarningCode,
} from "./document-error.js"

/** More findings do not help a reader, and a hostile document must not make the output huge. */
export const MAX_FINDINGS = 100

export class Report {
  readonly #errors: DocumentError[] = []
  readonly #warnings: Warning[] = []
  readonly #seen = new Set<string>()
  #errorCount = 0
  #hasTooMany = false
  #warningCount = 0

  error(code: DocumentErrorCode, at: Path, problem: string, fix: string): void {
    if (this.full) {
      this.countError()
      return
    }
    const error = finding(code, at, problem, fix)
    if (this.#seen.has(error.message)) return
    this.#seen.add(error.message)
    this.#errorCount++
    this.#errors.push(error)
  }

  /** Whether further errors are only counted, so that building their messages is unnecessary. */
  get full(): boolean {
    return this.#errors.length >= MAX_FINDINGS
  }

  /** Whether a list or a map has too many items: checking them would be useless and expensive. */
  get hasTooMany(): boolean {
    return this.#hasTooMany
  }

  tooMany(at: Path, problem: string, fix: string): void {
    this.#hasTooMany = true
    this.error("too-large", at, problem, fix)
  }

  countError(): void {
    this.#errorCount++
  }

  warn(code: WarningCode, at: Path, problem: string, fix: string): void {
    if (++this.#warningCount <= MAX_FINDINGS) this.#warnings.push(finding(code, at, problem, fix))
  }

  get errors(): readonly DocumentError[] {
    const hidden = this.#errorCount - this.#errors.length
    if (hidden === 0) return this.#errors
    return [...this.#errors, finding("more-errors", [], `${hidden} more errors are not listed`, "mend these first")]
  }

  get warnings(): readonly Warning[] {
    const hidden = this.#warningCount - this.#warnings.length
    if (hidden === 0) return this.#warnings
    return [
      ...this.#warnings,
      finding("more-warnings", [], `${hidden} more warnings are not listed`, "see to these first"),
    ]
  }
}

export class Field {
  readonly value: unknown
  readonly #report: Report
  /** Where the value is. Few paths are ever reported, so that paths are made of these links only then. */
  readonly #parent: Field | undefined
  readonly #steps: Path

  constructor(value: unknown, steps: Path, report: Report, parent?: Field) {
    this.value = value
    this.#steps = steps
    this.#report = report
    this.#parent = parent
  }

  get at(): Path {
    return this.#parent === undefined ? this.#steps : [...this.#parent.at, ...this.#steps]
  }

  /** The field with that name; the value of an absent field is undefined. */
  field(name: string): Field {
    const own = isObject(this.value) && Object.hasOwn(this.value, name) ? this.value[name] : undefined
    return new Field(own, [name], this.#report, this)
  }

  /** A field without a value at a path below this one, for reporting errors there. */
  below(way: Path): Field {
    return new Field(undefined, way, this.#report, this)
  }

  get present(): boolean {
    return this.value !== undefined && this.value !== null
  }

  get text(): string | undefined {
    return typeof this.value === "string" ? this.value : undefined
  }

  get items(): readonly Field[] {
    if (!Array.isArray(this.value)) return []
    return this.value.map((item: unknown, index) => new Field(item, [index], this.#report, this))
  }

  get entries(): readonly (readonly [string, Field])[] {
    if (!isObject(this.value)) return []
    return Object.entries(this.value).map(([name, value]) => [name, new Field(value, [name], this.#report, this)])
  }

  error(code: DocumentErrorCode, problem: string, fix: string): void {
    this.#report.error(code, this.at, problem, fix)
  }

  warn(code: WarningCode, problem: string, fix: string): void {
    this.#report.warn(code, this.at, problem, fix)
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
