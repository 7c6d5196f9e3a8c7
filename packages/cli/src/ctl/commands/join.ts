// SPDX-License-Identifier: Apache-2.0
// `merlonctl join`: joins this machine to a mesh with an invitation. The key is generated here and never leaves; the
// invitation is used up by the first certificate, which proves the identity for all later ones.

import { isIP } from "node:net"
import { join as joinPath } from "node:path"
import { makeSigningRequest } from "@merlon/identity"
import { meshNames } from "@merlon/policy/mesh"
import { MeshClient } from "@merlon/xds/client"
import { messageOf, writePrivateFile } from "@merlon/xds/runtime"
import { keepCredentials } from "@merlon/xserver"
import { Command, InvalidArgumentError } from "commander"
import { shellWord } from "../../shell-word.js"
import { CommandError } from "../exit.js"
import { readText } from "../read-text.js"
import { print, printError, visible } from "../terminal.js"
import { bootstrapText, checkRoom, prepareFolder } from "../workload/bootstrap-files.js"
import { fingerprints, readInvitation } from "../workload/invitation.js"

interface JoinFlags {
  readonly file?: string
  readonly out?: string
  readonly address?: string
  readonly listen?: string
  readonly application?: string
}

export function joinCommand(): Command {
  return new Command("join")
    .description(
      "Join this machine to a mesh with an invitation: create a key, get a certificate, write the proxy's files",
    )
    .argument("[invitation]", "output of `merlonctl invite`; - or nothing for standard input")
    .option("--file <file>", "read the invitation from a file")
    .option("--out <folder>", "output folder (default: ./NAME)")
    .option("--address <ip>", "address at which others reach the workload (default: the one its proxy calls from)", ip)
    .option("--listen <ip>", "address its proxy listens on (default: all)", ip)
    .option("--application <ip>", "address of the application (default: 127.0.0.1)", ip)
    .addHelpText("after", EXAMPLES)
    .action(async (word: string | undefined, flags: JoinFlags) => join(await invitationText(word, flags), flags))
}

const EXAMPLES = `
Examples:
  merlonctl join --file invitation.txt --out /etc/merlon/workloads/web-1
  merlond xserver --bootstrap /etc/merlon/workloads/web-1/bootstrap.yaml

To leave, stop the proxy and remove the folder; \`merlonctl workload remove NAME\` on a machine of the mesh forgets it.`

async function invitationText(word: string | undefined, { file }: JoinFlags): Promise<string> {
  if (file !== undefined && word !== undefined)
    throw new CommandError("usage", "pass the invitation or --file, not both")
  if (file !== undefined || word === undefined || word === "-") return readText(file ?? "-", "the invitation")
  printError(
    "other users of this machine can see arguments; next time use --file, or pass the invitation on standard input",
  )
  return word
}

async function join(text: string, flags: JoinFlags): Promise<void> {
  const invitation = readInvitation(text)
  const { namespace, name, serviceAccount, controlPlane, trustBundle, token, serverName } = invitation
  const roots = fingerprints(trustBundle)
  const names = meshNames(invitation)
  const folder = flags.out ?? name
  prepareFolder(folder)
  checkRoom(folder)
  const client = new MeshClient({
    address: controlPlane,
    serverName: serverName ?? `${names.mesh}d.${names.rootNamespace}.svc`,
    trustBundle: () => trustBundle,
    proof: () => ({ token }),
    node: { id: `${namespace}/${name}`, metadata: () => ({}) },
    subscriptions: [],
  })
  const { privateKey, request } = makeSigningRequest()
  let certificateChain: string
  try {
    ;({ certificateChain } = await client.signCertificate(request))
  } catch (error) {
    throw new CommandError("invitation-rejected", `cannot join at ${controlPlane}: ${visible(messageOf(error))}`)
  } finally {
    client.close()
  }
  // Written before everything else, because the invitation is already used up.
  keepCredentials(joinPath(folder, "state"), { certificateChain, privateKey })
  writePrivateFile(folder, "root.pem", trustBundle)
  const place = { controlPlane, ...(serverName === undefined ? {} : { serverName }), ...flags }
  const declaration = { name, namespace, serviceAccount, labels: {}, ports: [] }
  writePrivateFile(folder, "bootstrap.yaml", bootstrapText(declaration, place, names))
  print(`joined ${names.mesh} as ${name} in ${namespace}`)
  for (const root of roots) printError(`the root's fingerprint is ${root}`)
  printError(`next: \`merlond xserver --bootstrap ${shellWord(joinPath(folder, "bootstrap.yaml"))}\``)
}

function ip(text: string): string {
  if (isIP(text) === 0) throw new InvalidArgumentError("must be an address, as 10.0.0.7")
  return text
}
