// SPDX-License-Identifier: Apache-2.0
// One attribute of a request in the search. Its values fall into finitely many classes that the marks do not distinguish,
// and one value represents each class.

import type { Budget } from "../budget.js"
import { addressClasses, isWithin } from "./address-classes.js"
import type { Language } from "./language.js"
import type { BlockMark, ChoiceMark, Mark, SubjectMark, TextMark } from "./mark.js"
import { takes } from "./steps.js"
import { type TextClass, textClasses } from "./text-classes.js"

/** Issuer and subject of a token. */
export interface Subject {
  readonly issuer: string | undefined
  readonly subject: string | undefined
}

/** One text (addresses and ports are texts too), several texts, a token's subject, or absent. */
export type Value = string | undefined | readonly string[] | Subject

export interface ValueClass {
  /** Positions of the marks that match the values of this class. */
  readonly matched: readonly number[]
  readonly value: Value
}

export interface Dimension {
  readonly name: string
  /** Whether a request has any number of such values; a condition then holds if one of them matches. */
  readonly several: boolean
  /** All classes; for a dimension with several values, the classes of one value. */
  classes(marks: readonly Mark[], budget: Budget): readonly ValueClass[]
  /** A value that no mark matches, if one can be found without a search. */
  unmarked(marks: readonly Mark[]): { readonly value: Value } | undefined
}

export interface TextOptions {
  readonly language: Language
  /** Texts that represent their class instead of the shortest text. */
  readonly preferred?: readonly string[]
  /** Whether a request may lack the attribute. */
  readonly optional?: boolean
}

const ABSENT: ValueClass = { matched: [], value: undefined }

export function textDimension(name: string, options: TextOptions, several = false): Dimension {
  const preferred = new Preferred(options.preferred ?? [], (mark, text) => isText(mark) && takes(mark.steps(), text))
  return {
    name,
    several,
    classes(marks, budget) {
      const found = classesOfTexts(marks.filter(isText), options, budget)
      const classes = found.map(({ matched, text }): ValueClass => ({ matched, value: text }))
      if (!options.optional || several) return classes
      // If no text is preferred, a request without the attribute is easier to send.
      return options.preferred === undefined ? [ABSENT, ...classes] : [...classes, ABSENT]
    },
    unmarked: marks => (several ? { value: [] } : wrapped(preferred.unmarked(marks))),
  }
}

/** Which of a few likely values each mark matches, computed once for each mark. */
class Preferred {
  readonly #taken = new WeakMap<Mark, number>()

  constructor(
    readonly values: readonly string[],
    readonly bears: (mark: Mark, value: string) => boolean,
  ) {
    // One bit for each value.
    this.values = values.slice(0, 31)
  }

  /** The first value that no mark matches. */
  unmarked(marks: readonly Mark[]): string | undefined {
    let taken = 0
    for (const mark of marks) taken |= this.#takenBy(mark)
    return this.values.find((_, index) => ((taken >>> index) & 1) === 0)
  }

  #takenBy(mark: Mark): number {
    let taken = this.#taken.get(mark)
    if (taken === undefined) {
      taken = 0
      for (const [index, value] of this.values.entries()) if (this.bears(mark, value)) taken |= 1 << index
      this.#taken.set(mark, taken)
    }
    return taken
  }
}

const wrapped = (value: string | undefined): { readonly value: Value } | undefined =>
  value === undefined ? undefined : { value }

function classesOfTexts(marks: readonly TextMark[], options: TextOptions, budget: Budget): readonly TextClass[] {
  return textClasses(
    marks.map(mark => mark.steps()),
    options.language,
    options.preferred ?? [],
    budget,
  )
}

export function addressDimension(name: string, preferred: readonly string[]): Dimension {
  const likely = new Preferred(preferred, (mark, text) => isBlock(mark) && isWithin(text, mark.block))
  return {
    name,
    several: false,
    classes(marks, budget) {
      budget.spend(1 + marks.length ** 2)
      const blocks = marks.filter(isBlock).map(({ block }) => block)
      return addressClasses(blocks, preferred).map(({ matched, address }) => ({ matched, value: address }))
    },
    unmarked: marks => wrapped(likely.unmarked(marks)),
  }
}

/** `open`: there are any number of values besides the listed and marked ones; this value represents them. */
export function choiceDimension(
  name: string,
  values: readonly string[],
  open?: (taken: ReadonlySet<string>) => string,
): Dimension {
  return {
    name,
    several: false,
    classes(marks, budget) {
      const keys = marks.filter(isChoice).map(({ key }) => key)
      const marked = open === undefined ? [] : keys
      const all = new Set([...values, ...marked])
      if (open !== undefined) all.add(open(all))
      budget.spend(all.size)
      const matchedBy = new Map<string, number[]>()
      for (const [index, key] of keys.entries()) matchedBy.set(key, [...(matchedBy.get(key) ?? []), index])
      return [...all].map(value => ({ matched: matchedBy.get(value) ?? [], value }))
    },
    unmarked: marks => {
      const taken = new Set(marks.map(({ key }) => key))
      return wrapped(values.find(value => !taken.has(value)) ?? open?.(new Set([...values, ...taken])))
    },
  }
}

/** Issuer and subject are classified separately; a mark matches if both of its halves match. */
export function subjectDimension(name: string, issuer: TextOptions, subject: TextOptions): Dimension {
  return {
    name,
    several: false,
    classes(marks, budget) {
      const subjects = marks.filter(isSubject)
      const issuers = halves(
        subjects.map(mark => mark.issuer),
        issuer,
        budget,
      )
      const names = halves(
        subjects.map(mark => mark.subject),
        subject,
        budget,
      )
      budget.spend(issuers.length * names.length)
      const classes: ValueClass[] = []
      for (const one of issuers) {
        for (const other of names) {
          const matched = subjects.flatMap((_, index) => (one.bears(index) && other.bears(index) ? [index] : []))
          classes.push({ matched, value: { issuer: one.text, subject: other.text } })
        }
      }
      return classes
    },
    unmarked: () => undefined,
  }
}

interface Half {
  readonly text: string | undefined
  bears(index: number): boolean
}

function halves(marks: readonly (TextMark | undefined)[], options: TextOptions, budget: Budget): readonly Half[] {
  const present = marks.flatMap((mark, index) => (mark === undefined ? [] : [{ mark, index }]))
  const found = classesOfTexts(
    present.map(({ mark }) => mark),
    options,
    budget,
  )
  const classes: Half[] = found.map(({ matched, text }) => {
    const matchedIndexes = new Set(matched.map(position => present[position]?.index))
    return { text, bears: index => marks[index] === undefined || matchedIndexes.has(index) }
  })
  if (options.optional) classes.push({ text: undefined, bears: index => marks[index] === undefined })
  return classes
}

const isText = (mark: Mark): mark is TextMark => mark.kind === "text"
const isBlock = (mark: Mark): mark is BlockMark => mark.kind === "block"
const isChoice = (mark: Mark): mark is ChoiceMark => mark.kind === "choice"
const isSubject = (mark: Mark): mark is SubjectMark => mark.kind === "subject"
