// SPDX-License-Identifier: Apache-2.0
// `proof-check CERTIFICATE --policies PATH`: exit code 0 if the certificate is valid, 3 if not, 2 for wrong usage.

import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { checkCertificate } from "./check.js"
import { type Policy, readPolicy } from "./policies.js"
import { documentsIn, Invalid } from "./read.js"

const USAGE = `Usage: proof-check CERTIFICATE --policies PATH
       proof-check CERTIFICATE --from PATH --to PATH     for a comparison of two sets

Exit codes: 0 valid, 3 not valid, 2 wrong usage or unreadable files.
Options: -n, --namespace NAME  of policies that name none (default "default")`

const MAX_BYTES = 256 * 1024 * 1024

/** Every YAML and JSON file of a folder, or one file. */
function policiesIn(path: string, namespace: string): readonly Policy[] {
  if (statSync(path).isDirectory())
    return readdirSync(path)
      .sort()
      .flatMap(name =>
        /\.(ya?ml|json)$/i.test(name) || statSync(join(path, name)).isDirectory()
          ? policiesIn(join(path, name), namespace)
          : [],
      )
  return documentsIn(readFileSync(path, "utf8"), path).flatMap(document => readPolicy(document, namespace) ?? [])
}

/** Prints on one line, without characters that could change how it is displayed. */
const print = (line: string): void =>
  console.log(line.replace(/[^ -~]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`))

function main(): number {
  const option = { type: "string" } as const
  const namespace = { type: "string", short: "n", default: "default" } as const
  const help = { type: "boolean", short: "h" } as const
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { policies: option, from: option, to: option, namespace, help },
  })
  const { policies, from, to } = values
  if (values.help === true) {
    console.log(USAGE)
    return 0
  }
  const paths = policies === undefined ? [from, to] : [policies]
  const [certificate, ...more] = positionals
  if (
    certificate === undefined ||
    more.length > 0 ||
    paths.includes(undefined) ||
    (policies !== undefined && (from ?? to) !== undefined)
  ) {
    console.error(USAGE)
    return 2
  }
  if (statSync(certificate).size > MAX_BYTES) throw new Invalid("the certificate is larger than 256 MiB")
  const sets = paths.map(path => policiesIn(path ?? "", values.namespace))
  const { proved, assumed } = checkCertificate(readFileSync(certificate, "utf8"), sets)
  for (const line of proved) print(line)
  for (const line of assumed) print(`assumed of the ${line}`)
  console.log("valid")
  return 0
}

try {
  process.exitCode = main()
} catch (error) {
  const isUsage = error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS")
  if (isUsage) console.error(`${error.message}\n\n${USAGE}`)
  else if (error instanceof Error && "syscall" in error) console.error(error.message)
  // Fail closed: after an error during the check, the certificate is not valid.
  else print(`not valid: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = error instanceof Invalid ? 3 : 2
}
