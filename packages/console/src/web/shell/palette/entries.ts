// SPDX-License-Identifier: Apache-2.0
// Finds the results of the search box: pages, workloads, policies, decision ids, and pages that answer a question.

import { principalOf } from "../../ui/names.js"

export interface Entry {
  readonly group: "Questions" | "Pages" | "Workloads" | "Policies" | "Decisions"
  readonly label: string
  readonly href: string
}

export interface Known {
  readonly pages: readonly { readonly title: string; readonly path: string }[]
  /** As `namespace/name`. */
  readonly workloads: readonly string[]
  readonly policies: readonly { readonly kind: string; readonly key: string }[]
  /** Identities as `spiffe://…`, by service. */
  readonly identities: ReadonlyMap<string, string>
}

const MOST_EACH = 6

export function entriesFor(text: string, known: Known): readonly Entry[] {
  const wanted = text.trim().toLowerCase()
  const isFound = (name: string): boolean => name.toLowerCase().includes(wanted)
  const some = <T>(items: readonly T[], nameOf: (item: T) => string): readonly T[] =>
    items.filter(item => isFound(nameOf(item))).slice(0, MOST_EACH)
  return [
    ...questionsIn(text, known),
    ...some(known.pages, ({ title }) => title).map(
      ({ title, path }): Entry => ({ group: "Pages", label: title, href: path }),
    ),
    ...(wanted === "" ? [] : some(known.workloads, key => key)).map(
      (key): Entry => ({ group: "Workloads", label: key, href: `/workloads/${key}` }),
    ),
    ...(wanted === "" ? [] : some(known.policies, ({ kind, key }) => `${kind} ${key}`)).map(
      ({ kind, key }): Entry => ({ group: "Policies", label: `${kind} ${key}`, href: `/policies/${kind}/${key}` }),
    ),
    ...decisionIn(wanted),
  ]
}

const CALLERS = /\bwho (?:can|may) (?:reach|call)\s+(\S+?)\??$/i
const REACH = /\bwhat (?:can|may)\s+(\S+)\s+(?:reach|call)\??$/i
const WHY = /\bwhy (?:was|is)\s+([0-9a-f]{4,})[….]*\s+(?:denied|allowed)\??$/i
const SINCE = /\b(?:gained|lost) access|\b(?:who|what) changed\b/i
const ID = /^[0-9a-f]{6,}$/

function questionsIn(text: string, { workloads, identities }: Known): readonly Entry[] {
  const asked = text.trim()
  const workload = CALLERS.exec(asked)?.[1]
  const caller = REACH.exec(asked)?.[1]
  const id = WHY.exec(asked)?.[1]
  const answers: Entry[] = []
  if (SINCE.test(asked)) {
    const label = "Who gained or lost access in the last 24 hours?"
    answers.push({ group: "Questions", label, href: "/changes?since=24h" })
  }
  if (workload !== undefined) {
    for (const name of likely(workload, workloads)) {
      if (!name.includes("/")) continue
      answers.push({ group: "Questions", label: `Who can reach ${name}?`, href: `/workloads/${name}` })
    }
  }
  if (caller !== undefined) {
    for (const name of likely(caller, [...identities.keys()])) {
      const principal = principalOf(identities.get(name) ?? name)
      const href = `/access?as=${encodeURIComponent(principal)}`
      if (answers.some(answer => answer.href === href)) continue
      answers.push({ group: "Questions", label: `What can ${name} reach?`, href })
    }
  }
  if (id !== undefined) {
    answers.push({
      group: "Questions",
      label: `Why was ${id} decided this way?`,
      href: `/traffic?id=${id.toLowerCase()}`,
    })
  }
  return answers
}

/** The names that start with the text, the shortest first; the text itself if there are none. */
function likely(written: string, names: readonly string[]): readonly string[] {
  const found = names.filter(name => name.startsWith(written)).sort((a, b) => a.length - b.length || (a < b ? -1 : 1))
  return found.length === 0 ? [written] : found.slice(0, MOST_EACH)
}

function decisionIn(wanted: string): readonly Entry[] {
  return ID.test(wanted) ? [{ group: "Decisions", label: `Decision ${wanted}`, href: `/traffic?id=${wanted}` }] : []
}
