// SPDX-License-Identifier: Apache-2.0
// No test wagers on a quick machine: whatever one waits for, it waits for a minute at least. Vitest's own functions give up
// after a second where nobody says otherwise.

import { expect, it } from "vitest"
import { files, readText } from "./tree.js"

const LEAST_MS = 60_000
const TESTS = files("test/*.ts", "packages/*.ts", "samples/*.ts").filter(
  path => /\.test\.ts$|\/testing\//.test(path) || path.startsWith("test/"),
)

const number = (text: string): number => Number(text.replaceAll("_", ""))

const UNITS_MS = new Map([
  ["ms", 1],
  ["s", 1_000],
  ["m", 60_000],
])

/** Lines with a number, and its unit where it is not milliseconds, as the groups of the pattern: a second is for what is not to come. */
function hastyBy(pattern: RegExp): readonly string[] {
  const isHasty = (milliseconds: number): boolean => milliseconds > 1_000 && milliseconds < LEAST_MS
  return TESTS.flatMap(path =>
    readText(path)
      .split("\n")
      .flatMap((line, index) =>
        [...line.matchAll(pattern)]
          .filter(([, limit = "", unit = "ms"]) => isHasty(number(limit) * (UNITS_MS.get(unit) ?? 1)))
          .map(([text]) => `${path}:${index + 1}: ${text.trim()}`),
      ),
  )
}

/** What stands between the bracket at `start` and its other half, at commas outside of further brackets. */
function argumentsAt(text: string, start: number): readonly string[] {
  const found = [""]
  let depth = 0
  let quote: string | undefined
  for (let index = start; index < text.length; index++) {
    const each = text[index] ?? ""
    if (quote !== undefined) quote = each === quote && text[index - 1] !== "\\" ? undefined : quote
    else if (/["'`]/.test(each)) quote = each
    else if (/[([{]/.test(each)) depth++
    else if (/[)\]}]/.test(each)) depth--
    if (depth === 0) break
    if (each === "," && depth === 1 && quote === undefined) found.push("")
    else found[found.length - 1] += each
  }
  return found.map(argument => argument.trim()).filter(argument => argument !== "")
}

it("has a test wait for a condition for as long as a busy machine may take", () => {
  const hasty = TESTS.flatMap(path => {
    // Without regular expressions, which hold quotes and brackets of their own.
    const text = readText(path).replace(/(?<=[(,=]\s*)\/(?![/*])(?:\\.|[^\\/\n])+\//g, '""')
    return [...text.matchAll(/\bvi\.wait(?:For|Until)(?=\()/g)].flatMap(({ index, 0: call }) => {
      const [, limit] = argumentsAt(text, index + call.length)
      const isEnough = limit !== undefined && (!/^\d/.test(limit) || number(limit) >= LEAST_MS)
      return isEnough ? [] : [`${path}:${text.slice(0, index).split("\n").length}: ${limit ?? "a second"}`]
    })
  })
  expect(hasty).toEqual([])
})

it("has no limit of a test, a hook or a poll below what a busy machine may take", () => {
  const hasty = TESTS.flatMap(path =>
    readText(path)
      .split("\n")
      .flatMap((line, index) => {
        const limits = [...line.matchAll(/\btimeout: (\d[\d_]*_000)\b|^\s*(?:\}, )?(\d[\d_]*_000)[,)]$/g)]
        const short = limits.filter(([, option = "", last = ""]) => number(option || last) < LEAST_MS)
        return short.map(([text]) => `${path}:${index + 1}: ${text.trim()}`)
      }),
  )
  expect(hasty).toEqual([])
})

it("has no command wait for less either, but for what is not to come", () => {
  expect(hastyBy(/--(?:request-)?timeout(?:=|", "| )(\d+)(ms|s|m)\b/g)).toEqual([])
})

it("has a command that waits for a change say for how long, which is half a minute otherwise", () => {
  const silent = TESTS.flatMap(path =>
    readText(path)
      .split("\n")
      .filter(line => /\b(?:apply|patch)\b.*--wait\b(?![-=])/.test(line) && !line.includes("--timeout"))
      .map(line => `${path}: ${line.trim()}`),
  )
  expect(silent).toEqual([])
})

it("has no limit of its own making below that", () => {
  const looks = /\bfor \(let \w+ = 0; \w+ < (\d[\d_]*)(?: &&[^;]*)?; \w+\+\+\)(.{0,200}?)setTimeout\(\w+, (\d+)\)/gs
  const few = TESTS.flatMap(path =>
    [...readText(path).matchAll(looks)]
      .filter(([text]) => / && |\b(?:return|break)\b/.test(text))
      .filter(([, times = "", , pauseMs = ""]) => number(times) * number(pauseMs) < LEAST_MS)
      .map(([text]) => `${path}: ${text.split("\n")[0]}`),
  )
  const short = [
    ...hastyBy(/\bDate\.now\(\) \+ (\d[\d_]*)\b(?! \*)/g),
    ...hastyBy(/\bconst \w*(?:PATIENCE|EVENTUALLY|READY)\w*_MS = (\d[\d_]*)$/g),
  ]
  expect([...few, ...short]).toEqual([])
})

it("gives whoever is to connect or to answer as long, but where that is not to come", () => {
  expect(hastyBy(/\b(?:request|wait|connect|handshake)TimeoutMs: (\d[\d_]*)\b/g)).toEqual([])
})
