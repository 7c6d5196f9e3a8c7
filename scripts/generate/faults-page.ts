// SPDX-License-Identifier: Apache-2.0
// The page of everything that can go wrong, from the table of each package: code, what it means, what to do.

import { CLI_FAULTS } from "@merlon/cli"
import { CLUSTER_FAULTS } from "@merlon/cluster"
import { CONTROL_FAULTS } from "@merlon/control"
import { IDENTITY_FAULTS } from "@merlon/identity"
import {
  FAULTS,
  type FaultTable,
  FINDINGS,
  faultAdvice,
  faultStatus,
  faultText,
  TOKEN_FAULTS,
  WARNINGS,
} from "@merlon/policy"
import { XCLIENT_FAULTS } from "@merlon/xclient"
import { XDS_FAULTS } from "@merlon/xds"
import { XSERVER_FAULTS } from "@merlon/xserver"

export const FAULTS_PAGE = "docs/reference/faults.md"

interface Section {
  readonly title: string
  readonly about: string
  readonly faults: FaultTable
}

/** By package, in the order in which they stand on each other. */
export const SECTIONS: { readonly [name: string]: Section } = {
  cluster: {
    title: "The API server (`merlond cluster`)",
    about:
      "It does not start, or its store does not answer. Refused requests have Kubernetes' own statuses and reasons.",
    faults: CLUSTER_FAULTS,
  },
  identity: {
    title: "Certificates",
    about: "The mesh's own material, or what it was asked to sign, cannot be used.",
    faults: IDENTITY_FAULTS,
  },
  xds: {
    title: "Between control plane and proxies",
    about: "Streams and calls end with a code of gRPC, in capitals. The others are of files and messages.",
    faults: XDS_FAULTS,
  },
  control: {
    title: "The control plane (`merlond serve`)",
    about: "It has no API to talk to, gets no answer from it, or cannot use the mesh's root.",
    faults: CONTROL_FAULTS,
  },
  xserver: {
    title: "The inbound proxy (`merlond xserver`)",
    about:
      "Material that cannot be used, and what is refused before or beside policies and tokens; the access log says why.",
    faults: XSERVER_FAULTS,
  },
  xclient: {
    title: "The outbound proxy (`merlond xclient`)",
    about: "Why a call got no answer, and the status that the proxy replies with instead.",
    faults: XCLIENT_FAULTS,
  },
  cli: {
    title: "Exit codes of `merlonctl`",
    about: "0 is well done. Whatever goes wrong and is none of the others ends with 1.",
    faults: CLI_FAULTS,
  },
}

export function faultsPage(): string {
  const parts = [
    "<!-- Written by `npm run generate` from the errors.ts of each package. Do not edit. -->",
    "# Faults and warnings",
    "Everything that can go wrong, by the part that tells it: a code, what it means and what to do. The message beside a code\nsays the same of the case at hand.",
    ...documents(),
    ...tokens(),
    ...Object.values(SECTIONS).flatMap(({ title, about, faults }) => [`## ${title}`, about, tableOf(faults)]),
  ]
  return `${parts.join("\n\n")}\n`
}

function documents(): readonly string[] {
  return [
    "## Documents",
    "Every finding about a document has a code, a field path, what is wrong and, for that very field, what would be right. A\nfault refuses the document; a warning is told and the document stands.",
    "### Faults",
    tableOf(FAULTS),
    "### Warnings",
    tableOf(WARNINGS),
    "### Findings",
    "What is wrong with a set of policies although each of them is valid, as `merlonctl analyze` tells it: an error where a\npolicy does not do what it says, a warning where it hardly does what was meant.",
    tableOf(FINDINGS),
  ]
}

function tokens(): readonly string[] {
  return [
    "## Tokens",
    "A request whose token is refused is answered with this status and body.",
    table(
      ["code", "status", "body", "what to do"],
      TOKEN_FAULTS.map(fault => [`\`${fault}\``, String(faultStatus(fault)), faultText(fault), faultAdvice(fault)]),
    ),
  ]
}

function tableOf(faults: FaultTable): string {
  const rows = Object.entries(faults)
  const more = ["status", "severity"].filter(name => rows.some(([, fault]) => name in fault))
  return table(
    ["code", ...more, "means", "what to do"],
    rows.map(([code, fault]) => {
      const own = new Map<string, unknown>(Object.entries(fault))
      return [`\`${code}\``, ...more.map(name => String(own.get(name))), fault.means, fault.next]
    }),
  )
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`
  return [line(head), `|${head.map(() => "---|").join("")}`, ...rows.map(line)].join("\n")
}
