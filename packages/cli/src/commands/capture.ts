// SPDX-License-Identifier: Apache-2.0
// `merlond capture`: leads what comes to a pod's ports to its xserver, in the pod's own network, before anything else of
// the pod runs. Injection with `--capture redirect` adds it as an init container.

import { type CaptureChoices, type CapturedPort, iptablesRules, nftRules, parseCaptureMap } from "@merlon/control"
import { Command, InvalidArgumentError, Option } from "commander"
import { programRunner, type RunProgram } from "../run-program.js"

interface Flags extends CaptureChoices {
  readonly map: readonly CapturedPort[]
  readonly print: boolean
}

export function captureCommand(): Command {
  return new Command("capture")
    .description("lead a pod's inbound connections to its xserver; needs NET_ADMIN")
    .addOption(
      new Option("--map <pairs>", "application ports and xserver's, as 8080:15080,9090:15081")
        .argParser(pairs)
        .makeOptionMandatory(),
    )
    .addOption(new Option("--mesh <word>", "names the rules").env("MERLON_MESH").default("merlon"))
    .addOption(
      new Option("--undeclared <how>", "connections to any other port: refuse them, or let them pass unjudged")
        .choices(["refuse", "pass"])
        .default("refuse"),
    )
    .addOption(
      new Option("--udp <how>", "datagrams that do not answer the pod's own: let them pass unjudged, or refuse them")
        .choices(["pass", "refuse"])
        .default("pass"),
    )
    .option("--print", "print the rules and change nothing", false)
    .action(async ({ map, print, ...choices }: Flags) => {
      if (print) process.stdout.write(nftRules(map, choices))
      else process.stdout.write(`${await capture(map, choices, programRunner(process.env))}\n`)
    })
}

/** Says what was done. Fails where nothing could be: a pod whose traffic is not captured must not start. */
export async function capture(map: readonly CapturedPort[], choices: CaptureChoices, run: RunProgram): Promise<string> {
  const captured = map.map(({ port, listen }) => `${port} → ${listen}`).join(", ") || "no port"
  for (const [program, args, rules] of [
    ["nft", ["-f", "-"], nftRules(map, choices)],
    ["sh", [], iptablesRules(map, choices)],
  ] as const) {
    if (program === "sh" && !(await run("iptables", ["--version"], "")).found) break
    const { found, code, errors } = await run(program, args, rules)
    if (!found) continue
    if (code !== 0) throw new Error(`the rules were not taken: ${errors.trim() || `exit code ${code}`}`)
    return `captured by ${program === "sh" ? "iptables" : program}: ${captured}`
  }
  throw new Error("neither `nft` nor `iptables` is here; add one of them to the image, or use `--capture service`")
}

function pairs(text: string): readonly CapturedPort[] {
  const map = parseCaptureMap(text)
  if (typeof map === "string") throw new InvalidArgumentError(map)
  return map
}
