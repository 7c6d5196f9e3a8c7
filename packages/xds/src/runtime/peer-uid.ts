// SPDX-License-Identifier: Apache-2.0
// The local user at the other end of a loopback connection, from the kernel's socket table. Loopback excludes other
// machines but admits every local user, so operator-only endpoints check this as well.

import { readFile } from "node:fs/promises"
import type { Socket } from "node:net"
import { parseIp } from "@merlon/policy/request"

type Ends = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">

/** Whether the peer is root or runs as our own user. True where the system has no such table: only Linux has. */
export async function isOwnUser(socket: Ends): Promise<boolean> {
  const own = process.geteuid?.()
  if (process.platform !== "linux" || own === undefined) return true
  const uid = await peerUid(socket)
  // Fail closed: a peer that is not in the table is gone, or not of this machine.
  return uid === own || uid === 0
}

async function peerUid({ remoteAddress, remotePort, localAddress, localPort }: Ends): Promise<number | undefined> {
  // What is the far end for us is the near end for the peer.
  const near = endsOf(remoteAddress, remotePort)
  const far = endsOf(localAddress, localPort)
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const rows = await readFile(table, "utf8").catch(() => "")
    for (const ends of near.flatMap(from => far.map(to => `${from} ${to} `))) {
      const at = rows.indexOf(ends)
      if (at < 0) continue
      const [, , , , , , uid, , inode = "0"] = rows.slice(at, rows.indexOf("\n", at)).split(/\s+/)
      // A socket that its process has closed has no inode any more, and the table says that it is root's.
      return inode === "0" ? undefined : Number(uid)
    }
  }
  return undefined
}

/** As the table writes it: words in the byte order of the machine, in hexadecimal; IPv4 also as IPv6. */
function endsOf(address = "", port = 0): readonly string[] {
  const ip = parseIp(address)
  if (ip === undefined) return []
  const end = port.toString(16).toUpperCase().padStart(4, "0")
  if (ip.family === 4) return [`${wordOf(ip.words[3])}:${end}`, `${MAPPED}${wordOf(ip.words[3])}:${end}`]
  return [`${ip.words.map(wordOf).join("")}:${end}`]
}

const isLittle = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1

function wordOf(word: number): string {
  const bytes = Buffer.alloc(4)
  if (isLittle) bytes.writeUInt32LE(word >>> 0)
  else bytes.writeUInt32BE(word >>> 0)
  return bytes.toString("hex").toUpperCase()
}

const MAPPED = `${wordOf(0)}${wordOf(0)}${wordOf(0xffff)}`
