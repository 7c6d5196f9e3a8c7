// SPDX-License-Identifier: Apache-2.0
// Finds the local user of the peer on a loopback connection, from the kernel's socket table. Loopback excludes other
// machines but admits every local user, so operator-only endpoints check this as well.

import { readFile } from "node:fs/promises"
import type { Socket } from "node:net"
import { parseIp } from "@merlon/policy/request"

type Ends = Pick<Socket, "remoteAddress" | "remotePort" | "localAddress" | "localPort">

/** Whether the peer is root or runs as our own user. True on systems other than Linux, which have no such table. */
export async function isOwnUser(socket: Ends): Promise<boolean> {
  const own = process.geteuid?.()
  if (process.platform !== "linux" || own === undefined) return true
  const uid = await peerUid(socket)
  // Fail closed: a peer that is not in the table is gone, or not on this machine.
  return uid === own || uid === 0
}

async function peerUid({ remoteAddress, remotePort, localAddress, localPort }: Ends): Promise<number | undefined> {
  // Our remote end is the peer's local end.
  const near = endsOf(remoteAddress, remotePort)
  const far = endsOf(localAddress, localPort)
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"]) {
    const rows = await readFile(table, "utf8").catch(() => "")
    for (const ends of near.flatMap(from => far.map(to => `${from} ${to} `))) {
      const at = rows.indexOf(ends)
      if (at < 0) continue
      const [, , , , , , uid, , inode = "0"] = rows.slice(at, rows.indexOf("\n", at)).split(/\s+/)
      // The table lists a socket that its process has closed with inode 0, and as root's.
      return inode === "0" ? undefined : Number(uid)
    }
  }
  return undefined
}

/** The format of the table: words in the machine's byte order, in hexadecimal; IPv4 also as IPv6. */
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
