// SPDX-License-Identifier: Apache-2.0
// The results of policy tests as text, as JSON, and as JUnit XML for pipelines.

import { ruleName } from "@merlon/policy/authorization"
import {
  type CaseResult,
  describeRequest,
  type RegionCoverage,
  type RuleCoverage,
  type TestRun,
} from "@merlon/policy/policy-tests"
import { reasonOf } from "@merlon/policy/trial"
import { type Inputs, inputLines } from "../answers/inputs.js"
import { paint, visible } from "../terminal.js"

export interface FileRun extends TestRun {
  readonly file: string
  readonly name: string
  readonly regions: readonly RegionCoverage[]
}

/** The number of uncovered regions that text lists. JSON lists all. */
const MOST_NAMED = 10

export const isPassed = ({ results }: FileRun): boolean => results.every(({ passed }) => passed)

/** If only some cases ran, coverage is omitted, because the other cases may cover more. */
export function testText(runs: readonly FileRun[], read: Inputs, ran: "all" | "some" = "all"): string {
  const shown = ran === "all" ? runs : runs.filter(({ results }) => results.length > 0)
  const lines = shown.flatMap(({ file, name, results }) => [
    name === "" ? file : `${file} (${visible(name)})`,
    ...results.flatMap(caseLines),
  ])
  return [...lines, "", ...(ran === "all" ? summary(runs) : [tallyOf(runs)]), ...inputLines(read)].join("\n")
}

function caseLines({ test, passed, differences, answer }: CaseResult): readonly string[] {
  if (passed) return [`  ${paint.green("✓")} ${visible(test.name)}`]
  const why = answer === undefined ? [] : [`      ${visible(reasonOf(answer))}`]
  return [
    `  ${paint.red("✗")} ${visible(test.name)}`,
    ...differences.map(difference => `      ${visible(difference)}`),
    ...why,
  ]
}

function tallyOf(runs: readonly FileRun[]): string {
  const results = runs.flatMap(run => run.results)
  const failed = results.filter(({ passed }) => !passed).length
  const tally = `${results.length - failed} passed, ${failed} failed`
  return failed === 0 ? paint.green(tally) : paint.red(tally)
}

function summary(runs: readonly FileRun[]): readonly string[] {
  const rules = coverageOf(runs)
  const unmet = rules.filter(({ matched }) => matched === 0)
  const regions = regionsOf(runs)
  const untouched = regions.filter(({ touched }) => touched === 0)
  // A rule that no case matches is already listed.
  const unnamed = untouched.filter(({ region: { of } }) => of.kind !== "within" || !unmet.some(isRule(of.rule)))
  return [
    `${tallyOf(runs)}; ${rules.length - unmet.length} of ${rules.length} rules matched in some case, ${regions.length - untouched.length} of ${regions.length} regions of the decision touched`,
    ...unmet.map(({ rule }) => `  no case matches ${ruleName(rule)}`),
    ...unnamed.slice(0, MOST_NAMED).map(regionLine),
    ...(unnamed.length > MOST_NAMED ? [`  and ${unnamed.length - MOST_NAMED} more; -o json names them`] : []),
    ...(untouched.length > 0 ? ["  `merlonctl test generate` writes such cases"] : []),
  ]
}

const isRule =
  ({ id }: RuleCoverage["rule"]) =>
  ({ rule }: RuleCoverage): boolean =>
    rule.id === id

function regionLine({ region, example }: RegionCoverage): string {
  const such = example === undefined ? "" : `, as ${describeRequest(example.request)}`
  return visible(`  no case is ${region.words}${such}`)
}

/** Regions over all files, as for rules. */
function regionsOf(runs: readonly FileRun[]): readonly RegionCoverage[] {
  const regions = new Map<string, RegionCoverage>()
  for (const one of runs.flatMap(run => run.regions)) {
    const known = regions.get(one.region.id)
    const touched = one.touched + (known?.touched ?? 0)
    regions.set(one.region.id, { ...one, touched, example: touched > 0 ? undefined : (known ?? one).example })
  }
  return [...regions.values()]
}

/** Rules by name over all files, because two files may test the same policies. */
function coverageOf(runs: readonly FileRun[]): readonly RuleCoverage[] {
  const rules = new Map<string, RuleCoverage>()
  for (const { rule, matched, decided } of runs.flatMap(({ coverage }) => coverage)) {
    const known = rules.get(rule.id)
    rules.set(rule.id, {
      rule,
      matched: matched + (known?.matched ?? 0),
      decided: decided + (known?.decided ?? 0),
    })
  }
  return [...rules.values()]
}

export function testReport(runs: readonly FileRun[], read: Inputs) {
  const results = runs.flatMap(run => run.results)
  const failed = results.filter(({ passed }) => !passed).length
  return {
    passed: results.length - failed,
    failed,
    read,
    files: runs.map(run => ({
      file: run.file,
      name: run.name,
      cases: run.results.map(({ test, passed, differences, answer }) => ({
        name: test.name,
        passed,
        differences,
        ...(answer === undefined
          ? {}
          : { verdict: answer.verdict, stage: answer.stage, status: answer.status, reason: reasonOf(answer) }),
      })),
    })),
    rules: coverageOf(runs).map(({ rule, matched, decided }) => ({ rule: ruleName(rule), matched, decided })),
    regions: regionsOf(runs).map(({ region, workload, touched, example }) => ({
      region: region.words,
      workload: `${workload.namespace}/${workload.name}`,
      touched,
      ...(example === undefined ? {} : { request: example.request, verdict: example.answer.verdict }),
    })),
  }
}

/** JUnit XML as Jenkins, GitLab and others read it. */
export function testJunit(runs: readonly FileRun[], read: Inputs): string {
  const suites = runs.map(({ file, name, results }) => {
    const failed = results.filter(({ passed }) => !passed).length
    const cases = results.map(result => junitCase(result, file))
    const title = xml(name === "" ? file : `${file} (${name})`)
    return `  <testsuite name="${title}" tests="${results.length}" failures="${failed}">\n${cases.join("")}  </testsuite>\n`
  })
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suites.join("")}${junitSkipped(read)}</testsuites>\n`
}

/** Skipped input as a skipped test, so that a pipeline shows it. */
function junitSkipped({ skipped }: Inputs): string {
  if (skipped.length === 0) return ""
  const cases = skipped.map(
    what => `    <testcase name="${xml(what)}">\n      <error message="skipped"/>\n    </testcase>\n`,
  )
  return `  <testsuite name="skipped" tests="${skipped.length}" errors="${skipped.length}">\n${cases.join("")}  </testsuite>\n`
}

function junitCase({ test, passed, differences, answer }: CaseResult, file: string): string {
  const head = `    <testcase name="${xml(test.name)}" classname="${xml(file)}"`
  if (passed) return `${head}/>\n`
  const why = [...differences, ...(answer === undefined ? [] : [reasonOf(answer)])].join("\n")
  return `${head}>\n      <failure message="${xml(differences[0] ?? "")}">${xml(why)}</failure>\n    </testcase>\n`
}

/** XML 1.0 section 2.2 does not allow most control characters, not even escaped. */
function xml(text: string): string {
  return text
    .replace(/[\p{Cc}\ufffe\uffff]/gu, character => (character === "\n" ? character : "\ufffd"))
    .replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)
}
