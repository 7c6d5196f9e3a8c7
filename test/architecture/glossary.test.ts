// SPDX-License-Identifier: Apache-2.0
// Pages, help texts, messages, the console and code use one word for one thing. A page may quote an older word as code
// if it is a name or the output of a program.

import { expect, it } from "vitest"
import { files, readText, sourceFiles } from "./tree.js"

/** Words to avoid, and their replacements. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\blet(s|ting)? (\w+ )?through\b/i, "allow"],
  [/\bsettled by\b/i, "decided by"],
  [/\bthe mode of the port\b/i, "the mTLS mode"],
  [/\bwhom (it|we) believes?\b/i, "trust"],
  [/\bin shadow\b(?! mode)/i, "in shadow mode"],
  [/\b(the )?way in\b/i, "ingress port"],
  [/\b(own|whole) sight\b/i, "local observations, mesh observations"],
  [/\b(turnstile|leash|shelved)\b/i, "concurrency limit, parent watchdog, encoded"],
  [/\bpolicies of (now|today)\b/i, "current policies"],
  [/\bwhoever\b/i, "name who it is"],
  [/\b(somebody|anybody)\b/i, "name who it is"],
  [/\ball the same\b/i, "anyway"],
]

/** Words to avoid on pages only: in code they are also names of fields and results. */
const WORDS_OF_PAGES: readonly (readonly [RegExp, string])[] = [
  ...WORDS,
  [/(?<!connection |connections )\brefused\b(?! connection)/i, "denied, or rejected"],
  [/\bfaults?\b(?! injection|, mirror)/i, "error"],
  [/\bnobody\b/i, "name who it is"],
]

/** Words to avoid in all code: names, comments and tests. */
const WORDS_OF_CODE: readonly (readonly [RegExp, string])[] = [
  [/(?<![a-z])faults?(?![a-z])(?! injection)|Faults?(?![a-z])|(?<![A-Z])FAULTS?(?![A-Z])/, "error"],
  [
    /(?<![a-z])refus(e|ed|es|al|als|ing)(?![a-z])|Refus(e|ed|es|al|als|ing)(?![a-z])|REFUS(ED|ALS?|ING)(?![A-Z])/,
    "deny, or reject",
  ],
  [/\blet(s|ting)? (\w+ )?through\b/i, "allow"],
  [/\bsettled by\b/i, "decided by"],
  [/\bbelieves\b/i, "trusts"],
  [/\bpolicies of (now|today)\b/i, "current policies"],
  [/\bwhoever\b/i, "name who it is"],
  [/\ball the same\b/i, "anyway"],
  [/\bchores?\b|\bCHORES\b/, "abuse budget"],
  [/waysIn|WaysIn/, "ingress ports"],
  [
    /[Tt]urnstile|[Ss]hel(f|ved?)(?![a-z])|[a-z]Leash|[Dd]epartures|[Ss]tand-?[Ii]n(?![a-z])|afterLiving|[Tt]raveller|\bWish|[a-z]Wish/,
    "see the glossary",
  ],
]

/** Texts that contain these words for other reasons: names in protocols, options and former versions. */
const EXCEPTIONS: readonly RegExp[] = [
  /ECONNREFUSED|REFUSED_STREAM|refused-stream|ERROR\.refused|[Uu]nrefusable/g, // codes of Node and HTTP/2
  /connections?( was| is| are)? refused|refused connections?|[Rr]efuses? the connection/gi, // the peer refuses the connection
  /["'`]refuse\\?["'`]|--udp refuse|udp: refuse|pass it or refuse it|expect: refuse/g, // values of options, and a former verdict
  /authority_refused_changes_total/g, // a former name
  /upstream refused|failure: refused|\["refused", \[\]\]|[( =]"refused"|^ +refused: /gm, // results of failed upstream calls
  /the fault of|http\[\]\.fault|\{fault: /g,
  /waysIn: ingressPorts|ingressPorts: waysIn|fields, waysIn,/g, // the name in stored files
]

/** Files about refused connections and datagrams, the formal model, and names of Envoy. */
const EXEMPT =
  /capture-reconciler|\/registry\/udp|unjudged-ports|wire\/src\/(http\/(upstream|pools)|http2\/frame|sockets\/connect|native\/large-buffers)|mesh-observations|otherAddresses|outbound\.test|request-calls\.test|application-port|member\/bootstrap|bench\/mesh\/envoy|test\/model\/|architecture\/glossary|\/oracle\/|\/generated\//

function found(text: string, words: typeof WORDS): readonly string[] {
  return words.flatMap(([word, instead]) => {
    const match = word.exec(text)
    return match === null ? [] : [`\`${match[0]}\`: write ${instead}`]
  })
}

/** The page without code blocks, inline code and link targets. */
function prose(markdown: string): string {
  return markdown
    .replaceAll(/^(`{3,})[^\n]*\n[\s\S]*?^\1$/gm, "")
    .replaceAll(/`[^`\n]*`/g, "")
    .replaceAll(/\]\([^)]*\)/g, "]")
}

/** Strings of more than one word, and the text between tags. */
function strings(source: string): string {
  const code = source.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "")
  return [...code.matchAll(/"([^"\n]* [^"\n]*)"|`([^`]* [^`]*)`|>([^<>{}\n]* [^<>{}\n]*)</g)]
    .map(([all]) => all)
    .join("\n")
}

const PAGES = files("*.md")
const SOURCES = [...files("packages/cli/src/**/*.ts"), ...files("packages/console/src/web/**/*.tsx")].filter(
  path => !/\.test\.tsx?$|\/testing\//.test(path),
)

it.each(PAGES)("%s uses the words of the glossary", path => {
  expect(found(prose(readText(path)), WORDS_OF_PAGES)).toEqual([])
})

it("help, messages and the console use the words of the glossary", () => {
  const all = SOURCES.flatMap(path => found(strings(readText(path)), WORDS).map(word => `${path}: ${word}`))
  expect(all).toEqual([])
})

it("names, comments and tests use the words of the glossary", () => {
  const all = sourceFiles()
    .filter(path => !EXEMPT.test(path))
    .flatMap(path => {
      const text = EXCEPTIONS.reduce((rest, exception) => rest.replaceAll(exception, ""), readText(path))
      return found(text, WORDS_OF_CODE).map(word => `${path}: ${word}`)
    })
  expect(all).toEqual([])
})
