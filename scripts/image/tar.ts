// SPDX-License-Identifier: Apache-2.0
// Tar archives as values: reads Debian packages, writes image layers. The output depends only on the entries (sorted,
// no times, no owners), so that equal files give equal bytes.

export type Entry =
  | { readonly path: string; readonly kind: "folder"; readonly mode?: number }
  | { readonly path: string; readonly kind: "file"; readonly content: Buffer; readonly mode: number }
  | { readonly path: string; readonly kind: "link"; readonly target: string }

const BLOCK = 512
const TYPES = { file: "0", link: "2", folder: "5" } as const

export function writeTar(entries: readonly Entry[]): Buffer {
  const blocks: Buffer[] = []
  for (const entry of [...entries].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    const content = entry.kind === "file" ? entry.content : Buffer.alloc(0)
    blocks.push(header(entry, content.length), content, Buffer.alloc(padding(content.length)))
  }
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

function header(entry: Entry, size: number): Buffer {
  const head = Buffer.alloc(BLOCK)
  const path = entry.kind === "folder" ? `${entry.path}/` : entry.path
  const [prefix, name] = path.length <= 100 ? ["", path] : split(path)
  const mode = entry.kind === "file" ? entry.mode : entry.kind === "folder" ? (entry.mode ?? 0o755) : 0o777
  head.write(name, 0)
  head.write(octal(mode, 7), 100)
  head.write(octal(0, 7), 108)
  head.write(octal(0, 7), 116)
  head.write(octal(size, 11), 124)
  head.write(octal(0, 11), 136)
  head.write("        ", 148)
  head.write(TYPES[entry.kind], 156)
  if (entry.kind === "link") head.write(entry.target, 157)
  head.write("ustar\u000000", 257)
  head.write(prefix, 345)
  const sum = head.reduce((total, byte) => total + byte, 0)
  head.write(`${octal(sum, 6)}\0 `, 148)
  return head
}

/** ustar stores the folder of a long path separately. */
function split(path: string): readonly [prefix: string, name: string] {
  const at = path.lastIndexOf("/", 155)
  if (at <= 0 || path.length - at - 1 > 100) throw new Error(`the path \`${path}\` is too long for an archive`)
  return [path.slice(0, at), path.slice(at + 1)]
}

export function* readTar(archive: Buffer): Generator<Entry> {
  let longName: string | undefined
  for (let at = 0; at + BLOCK <= archive.length; ) {
    const head = archive.subarray(at, at + BLOCK)
    if (head[0] === 0) return
    const size = Number.parseInt(text(head, 124, 12), 8) || 0
    const content = archive.subarray(at + BLOCK, at + BLOCK + size)
    at += BLOCK + size + padding(size)
    const type = text(head, 156, 1)
    // GNU's format for long names: a separate record before the entry.
    if (type === "L") {
      longName = text(content, 0, size)
      continue
    }
    const prefix = text(head, 345, 155)
    const written = longName ?? (prefix === "" ? text(head, 0, 100) : `${prefix}/${text(head, 0, 100)}`)
    longName = undefined
    const path = written.replace(/^\.?\/+/, "").replace(/\/$/, "")
    if (path === "") continue
    if (type === "5") yield { path, kind: "folder" }
    else if (type === "2") yield { path, kind: "link", target: text(head, 157, 100) }
    else if (type === "0" || type === "") {
      yield { path, kind: "file", content: Buffer.from(content), mode: Number.parseInt(text(head, 100, 8), 8) & 0o777 }
    }
  }
}

/** Adds the parent folders of every path. */
export function withFolders(entries: readonly Entry[]): readonly Entry[] {
  const all = new Map<string, Entry>(entries.map(entry => [entry.path, entry]))
  for (const { path } of entries) {
    for (let at = path.lastIndexOf("/"); at > 0; at = path.lastIndexOf("/", at - 1)) {
      const folder = path.slice(0, at)
      if (!all.has(folder)) all.set(folder, { path: folder, kind: "folder" })
    }
  }
  return [...all.values()]
}

function padding(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}

function octal(value: number, digits: number): string {
  return value.toString(8).padStart(digits, "0")
}

function text(buffer: Buffer, from: number, length: number): string {
  const end = buffer.indexOf(0, from)
  return buffer.toString("utf8", from, end < 0 || end > from + length ? from + length : end).trimEnd()
}
