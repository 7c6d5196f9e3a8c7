// SPDX-License-Identifier: Apache-2.0
// Classes are exact: the evaluator treats every value like the representative of its class, and every class has a value
// that the evaluator puts there. The evaluator is the reference here, not the patterns.

import fc from "fast-check"
import { describe, expect, inject, it, test } from "vitest"
import { type AttributeTable, attributeTable } from "../../authorization/attributes.js"
import type { Comparison } from "../../authorization/comparison.js"
import { Criterion } from "../../authorization/criterion.js"
import { type Asked, httpRequest } from "../../authorization/testing/requests.js"
import { type Dialect, meshConfig, type PathNormalization } from "../../mesh/config.js"
import { compile } from "../../program.js"
import { hostComparedAs } from "../../request/host.js"
import { normalizePath } from "../../request/path.js"
import { parseSpiffeId } from "../../request/spiffe-id.js"
import { Budget } from "../budget.js"
import { isOpaque, readCriterion } from "../read-criterion.js"
import { SeenHeaders } from "../seen-headers.js"
import { Space } from "../space.js"
import type { Value } from "./dimension.js"
import { IDENTITY } from "./language.js"
import { pathLanguage } from "./path-language.js"
import { textClasses } from "./text-classes.js"

const issuers = new Set(["iss", "iss/a"])
interface Case {
  readonly name: string
  /** Values that a policy may have for the attributes that read this part of a request. */
  readonly written: fc.Arbitrary<{ readonly attribute: string; readonly value: string }>
  readonly asked: (value: Value, comparison: Comparison) => Asked
  readonly values: fc.Arbitrary<Value>
}

const text = (...units: string[]) => fc.array(fc.constantFrom(...units), { maxLength: 6 }).map(list => list.join(""))
const nonEmpty = (...units: string[]) => text(...units).filter(value => value !== "")
const pattern = (...units: string[]) =>
  fc
    .tuple(fc.constantFrom("", "*"), text(...units), fc.constantFrom("", "*"))
    .map(([a, b, c]) => a + b + c)
    .filter(value => value !== "")
const on = (attribute: string, value: fc.Arbitrary<string>) => value.map(written => ({ attribute, value: written }))
const segment = nonEmpty("a", "b", ".", "-", "ns", "sa")
const identities = fc
  .tuple(nonEmpty("a", "b", "."), segment, segment)
  .map(([domain, ns, sa]) => `${domain}/ns/${ns}/sa/${sa}`)
  .filter(principal => parseSpiffeId(`spiffe://${principal}`) !== undefined)
const paths = text("/", "a", "b", ".", "%41", "%20", "[").map(path => `/${path}`)
const template = fc
  .array(fc.constantFrom("a", "b", "{*}", "ab"), { minLength: 1, maxLength: 3 })
  .chain(head => fc.constantFrom("", "/{**}", "/{**}/a", "/{**}/").map(tail => `/${head.join("/")}${tail}`))
  .filter(value => value.includes("{*"))

const word = (value: Value): string => (typeof value === "string" ? value : "")

const CASES: readonly Case[] = [
  {
    name: "a method",
    written: on("method", pattern("A", "B")),
    asked: value => ({ method: word(value) }),
    values: nonEmpty("A", "B", "C"),
  },
  {
    name: "a host, without regard to case in one field and with it in another",
    written: fc.oneof(
      on("host", pattern("a", "B", ".", ":", "8")),
      on("request.headers[host]", pattern("a", "B", ".", ":", "8")),
    ),
    asked: (value, { ignoresTrailingDot }) => {
      if (value === undefined) return {}
      return { host: ignoresTrailingDot ? hostComparedAs(word(value)) : word(value) }
    },
    values: nonEmpty("a", "A", "b", "B", ".", ":", "8"),
  },
  {
    name: "a path",
    written: fc.oneof(
      on("path", pattern("/", "a", "b")),
      on("path", template),
      on("path", fc.constantFrom("*", "/*", "/{**}")),
    ),
    asked: value => ({ target: word(value) }),
    values: fc.oneof(
      paths.filter(path => normalizePath(path, "BASE") === path),
      fc.constant("*"),
    ),
  },
  {
    name: "an identity by all its fields",
    written: fc.oneof(
      on("source.principal", fc.oneof(identities, pattern("a", "b", "/", "/ns/", "/sa/"))),
      on(
        "source.namespace",
        fc.oneof(segment, pattern("a", "b"), fc.constantFrom("a*b", "*a*", "a*b*a", "*sa", "n*a", "sa")),
      ),
      on(
        "source.serviceAccount",
        fc.tuple(segment, segment).map(([ns, sa]) => `${ns}/${sa}`),
      ),
      on("source.trustDomain", pattern("a", "b", ".")),
    ),
    asked: value => ({ peer: word(value) }),
    values: identities,
  },
  {
    name: "a subject by principal and claims",
    written: fc.oneof(
      on(
        "request.auth.principal",
        fc.constantFrom(
          "*",
          "iss/sub",
          "iss/*",
          "iss/s*",
          "*/sub",
          "*ss/sub",
          "*ub",
          "is*",
          "iss",
          "iss/a/b",
          "iss/a*",
        ),
      ),
      on("request.auth.claims[iss]", pattern("i", "s", "/")),
      on("request.auth.claims[sub]", pattern("s", "u", "b")),
    ),
    asked: value => {
      const { issuer, subject } = value as { issuer?: string; subject?: string } // what the subject dimension gives
      return {
        claims: {
          ...(issuer === undefined ? {} : { iss: issuer }),
          ...(subject === undefined ? {} : { sub: subject }),
        },
      }
    },
    values: fc.record({
      issuer: fc.constantFrom("iss", "is", "iss/a", "", "x", undefined),
      subject: fc.constantFrom("sub", "s", "b", "a/b", "", "x", undefined),
    }),
  },
  {
    name: "an element of a claim",
    written: on("request.auth.claims[groups]", pattern("a", "b")),
    asked: value => ({ claims: { groups: [word(value)] } }),
    values: text("a", "b", "c"),
  },
  {
    name: "a line of a header",
    written: on("request.headers[x-v]", pattern("a", "b")),
    asked: value => ({ headers: { "x-v": [word(value)] } }),
    values: text("a", "b", "c"),
  },
  {
    name: "a server name",
    written: on("connection.sni", pattern("a", "B", ".")),
    asked: value => (value === undefined ? {} : { sni: word(value) }),
    values: fc.oneof(nonEmpty("a", "A", "b", "B", "."), fc.constant(undefined)),
  },
  {
    name: "an address",
    written: on(
      "source.ip",
      fc.constantFrom(
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.1.2.3",
        "0.0.0.0/0",
        "::/0",
        "fd00::/8",
        "::1",
        "255.255.255.255",
        "128.0.0.0/1",
      ),
    ),
    asked: value => ({ from: word(value) }),
    values: fc.constantFrom(
      "10.0.0.0",
      "10.1.2.3",
      "10.1.2.4",
      "9.255.255.255",
      "11.0.0.0",
      "::1",
      "::2",
      "fd00::1",
      "::ffff:10.1.2.3",
      "255.255.255.255",
      "128.0.0.1",
    ),
  },
  {
    name: "a port",
    written: on("destination.port", fc.constantFrom("80", "8080", "443")),
    asked: value => ({ port: Number(value) }),
    values: fc.constantFrom("80", "8080", "443", "8000", "9"),
  },
]

describe.each<Dialect | undefined>([undefined, "istio"])("classes in the dialect %s", dialect => {
  const mesh = meshConfig(dialect && { dialect })
  const table = attributeTable(issuers, dialect)
  test.each(CASES)("$name", { timeout: 120_000 * inject("effort") }, ({ written, asked, values }) => {
    fc.assert(
      fc.property(
        fc.array(written, { minLength: 1, maxLength: 6 }),
        fc.array(values, { maxLength: 8 }),
        (list, some) => {
          const space = new Space({ mesh, ports: [], host: "w.foo", namespace: "foo", keys: [], issuers: [...issuers] })
          const context = {
            frame: { identity: true, protocol: "http", token: { at: "there" } },
            space,
            issuers,
            headers: new SeenHeaders(
              [],
              compile([], { namespace: "foo", name: "w", labels: {} }, mesh).protectedHeaders,
            ),
            view: "",
            token: space.token,
            openHeaders: new Set<string>(),
            tokensAt: undefined,
            derivedHeaders: new Set<string>(),
            unsteadyClaims: new Set<string>(),
          } as const
          const criteria = list.map(({ attribute, value }) => criterionOn(table, attribute, value))
          const conditions = criteria.flatMap(criterion => {
            const read = readCriterion(criterion, context)
            return typeof read === "object" && !isOpaque(read) ? [read] : []
          })
          expect(conditions.length).toBe(criteria.length)
          const marks = conditions.flatMap(condition => condition.marks)
          const classes = conditions[0]?.dimension.classes(marks, new Budget()) ?? []
          const seen = (value: Value) =>
            criteria
              .flatMap((criterion, at) =>
                criterion.holds(httpRequest(asked(value, space.comparison), mesh)) ? [at] : [],
              )
              .join()
          for (const { matched, value } of classes)
            if (value !== undefined) expect([value, seen(value)]).toEqual([value, matched.join()])
          const known = new Set(classes.map(({ matched }) => matched.join()))
          for (const value of some) expect([value, known.has(seen(value))]).toEqual([value, true])
        },
      ),
      { numRuns: 100 * inject("effort") },
    )
  })
})

function criterionOn(table: AttributeTable, name: string, value: string): Criterion {
  const attribute =
    [...Object.values(table.source), ...Object.values(table.operation)].find(one => one.name === name) ??
    table.condition(name)
  if (attribute === undefined) throw new RangeError(name)
  return new Criterion("field", attribute, false, [value])
}

describe("a language contains exactly", () => {
  const takes = (language: typeof IDENTITY, value: string) =>
    textClasses([], { ...language, fillers: "" }, [value], new Budget()).some(({ text }) => text === value)

  const modes = ["NONE", "BASE", "MERGE_SLASHES", "DECODE_AND_MERGE_SLASHES"] as const
  test.each<[PathNormalization, Dialect | undefined]>(
    modes.flatMap(mode => [
      [mode, undefined],
      [mode, "istio"],
    ]),
  )("the paths that normalization %s leaves (dialect %s)", (mode, dialect) => {
    const units = text(
      "/",
      "a",
      ".",
      "..",
      "%",
      "%2",
      "%41",
      "%2f",
      "%5C",
      "%00",
      "%20",
      "\\",
      "?",
      "#",
      " ",
      "4",
      "1",
      "f",
      "{",
      "[",
    )
    fc.assert(
      fc.property(units, path => {
        const left = !/[?# ]/.test(path) && normalizePath(`/${path}`, mode, dialect) === `/${path}`
        expect([path, takes(pathLanguage(mode, dialect), `/${path}`)]).toEqual([path, left])
      }),
      { numRuns: 400 * inject("effort") },
    )
  })

  it("the identities that the parser accepts", () => {
    const units = text("a", "A", ".", "/", "/ns/", "/sa/", "ns", "-", "_", "%")
    fc.assert(
      fc.property(fc.oneof(units, identities), value => {
        expect([value, takes(IDENTITY, value)]).toEqual([value, parseSpiffeId(`spiffe://${value}`) !== undefined])
      }),
      { numRuns: 800 * inject("effort") },
    )
  })
})
