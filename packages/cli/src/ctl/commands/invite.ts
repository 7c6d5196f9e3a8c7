// SPDX-License-Identifier: Apache-2.0
// `merlonctl invite`: declares a workload and prints a one-word, short-lived, single-use invitation for its machine.

import { invitationAudience } from "@merlon/control/callers"
import { Command } from "commander"
import { duration, endpoint } from "../../arguments.js"
import { withSession } from "../connect.js"
import { CommandError } from "../exit.js"
import { type ClusterFlags, withClusterFlags } from "../flags.js"
import type { Session } from "../session.js"
import { print, printError } from "../terminal.js"
import type { DeclaredPort } from "../workload/declared-pod.js"
import { boundToken, checkNamespace, ensurePod, ensureServiceAccount, rootCertificate } from "../workload/enrol.js"
import { fingerprints, writeInvitation } from "../workload/invitation.js"
import { declaredPort, labels } from "../workload/parse-flags.js"

interface InviteFlags extends ClusterFlags {
  readonly label: { readonly [name: string]: string }
  readonly port: readonly DeclaredPort[]
  readonly serviceAccount: string
  readonly controlPlane: string
  readonly serverName?: string
  readonly ttl: number
}

const MIN_TTL_MS = 600_000
const MAX_TTL_MS = 24 * 3_600_000

export function inviteCommand(): Command {
  return withClusterFlags(
    new Command("invite")
      .description(
        "Invite another machine to join as a workload: declare it and print the invitation for `merlonctl join`",
      )
      .argument("<name>", "name of the workload")
      .requiredOption(
        "--control-plane <host:port>",
        "address at which the other machine reaches the control plane",
        endpoint,
      )
      .option("-l, --label <labels>", "labels, as app=web,version=v1; repeatable", labels, {})
      .option("-p, --port <port>", "port of the application, as 8080 or 8080/http; repeatable", declaredPort, [])
      .option("--service-account <name>", "service account, which is its identity; created if missing", "default")
      .option("--server-name <name>", "name in the control plane's certificate (default: that of its Service)")
      .option("--ttl <time>", "lifetime of the invitation, 10m to 24h", duration, MIN_TTL_MS),
  )
    .addHelpText("after", EXAMPLES)
    .action((name: string, flags: InviteFlags) => withSession(flags, session => invite(session, name, flags)))
}

const EXAMPLES = `
Example, here and then on the other machine:
  merlonctl invite web-1 -n shop --label app=web --port 8080/http --control-plane 10.0.0.1:15012
  merlonctl join --file invitation.txt --out /etc/merlon/workloads/web-1

The other machine opens a connection to the control plane (15012 by default). Callers of the workload open connections to
its proxy (15080 for its first port). No other port has to be open.`

async function invite(session: Session, name: string, flags: InviteFlags): Promise<void> {
  const { namespace, names } = session
  const { label, port: ports, serviceAccount, controlPlane, serverName, ttl } = flags
  if (ttl < MIN_TTL_MS || ttl > MAX_TTL_MS)
    throw new CommandError("usage", "an invitation is good for 10m at least and 24h at most")
  await checkNamespace(session, namespace)
  const trustBundle = await rootCertificate(session, namespace)
  if (await ensureServiceAccount(session, namespace, serviceAccount))
    printError(`serviceaccount/${serviceAccount} created`)
  const declaration = { name, namespace, labels: label, ports, serviceAccount }
  const { change, pod } = await ensurePod(session, declaration)
  printError(`workload/${name} ${change}`)
  const { token, expires } = await boundToken(
    session,
    pod,
    declaration,
    Math.floor(ttl / 1000),
    invitationAudience(names),
  )
  const { mesh, domain } = names
  print(
    writeInvitation({
      mesh,
      domain,
      controlPlane,
      ...(serverName === undefined ? {} : { serverName }),
      namespace,
      name,
      serviceAccount,
      trustBundle,
      token,
    }),
  )
  printError(
    `the invitation works once, until ${expires}; on the other machine run \`merlonctl join\`, paste it and press Ctrl-D`,
  )
  for (const print256 of fingerprints(trustBundle)) printError(`the root's fingerprint is ${print256}`)
}
