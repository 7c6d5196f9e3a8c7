// SPDX-License-Identifier: Apache-2.0
// Packages without npm: an archive with the executable, and a Debian package with the executable and systemd units.

import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import type { ShellFile } from "@merlon/cli"
import type { Entry } from "../image/tar.js"
import { ar, entriesOf, file, tarGz } from "./archive.js"
import type { Component } from "./components.js"
import { thirdPartyNotices } from "./components.js"
import type { Arch } from "./executable.js"
import { LEGAL, sampleEntries } from "./packages.js"

export interface Executable {
  readonly arch: Arch
  /** The executable's content. */
  readonly program: Buffer
  readonly version: string
  readonly components: readonly Component[]
  readonly shell: readonly ShellFile[]
  /** gzip's compression level; a release uses the default. */
  readonly level?: number
}

const NODE_LICENCE = "The executable contains Node.js; its licence: https://github.com/nodejs/node/blob/main/LICENSE\n"
const DEBIAN_ARCH: Readonly<Record<Arch, string>> = { x64: "amd64", arm64: "arm64" }
const UNITS = "deploy/systemd"

const programs = (prefix: string, program: Buffer): readonly Entry[] => [
  file(`${prefix}merlond`, program, true),
  { path: `${prefix}merlonctl`, kind: "link", target: "merlond" },
  { path: `${prefix}kubectl-merlon`, kind: "link", target: "merlond" },
  { path: `${prefix}proof-check`, kind: "link", target: "merlond" },
]

/** The archive for krew, which unpacks only files, no links. */
export function krewArchive({ program, components, level }: Omit<Executable, "shell">): Buffer {
  return tarGz([file("kubectl-merlon", program, true), ...legalFiles("", components)], level)
}

function legalFiles(prefix: string, components: readonly Component[]): readonly Entry[] {
  return [
    ...LEGAL.map(name => file(`${prefix}${name}`, readFileSync(name))),
    file(`${prefix}THIRD_PARTY_NOTICES`, `${NODE_LICENCE}\n${thirdPartyNotices(components)}`),
  ]
}

export function standaloneArchive({ arch, program, version, components, shell, level }: Executable): Buffer {
  const top = `merlon-${version}-linux-${arch}/`
  const entries = [
    ...programs(`${top}bin/`, program),
    ...legalFiles(top, components),
    file(`${top}README.md`, readFileSync("README.md")),
    ...shell.map(({ path, text }) => file(`${top}${path}`, text)),
    ...sampleEntries(top, false),
    ...entriesOf(UNITS, `${top}systemd/`),
  ]
  return tarGz(entries, level)
}

/** Debian's form of a pre-release, which sorts before the release. */
function debianVersion(version: string): string {
  return version.replace("-", "~")
}

export function debianPackage({ arch, program, version, components, shell, level }: Executable): Buffer {
  const files = [
    ...programs("./usr/bin/", program),
    ...legalFiles("./usr/share/doc/merlon/", components),
    ...shell.map(debianShellFile),
    ...sampleEntries("./usr/share/merlon/", false),
    ...entriesOf(UNITS, "./usr/lib/systemd/system/"),
  ]
  const folders = new Set(files.flatMap(({ path }) => parents(path)))
  const data = tarGz([...[...folders].map((path): Entry => ({ path, kind: "folder" })), ...files], level)
  const bytes = files.reduce((sum, entry) => sum + (entry.kind === "file" ? entry.content.length : 0), 0)
  const control = [
    "Package: merlon",
    `Version: ${debianVersion(version)}`,
    `Architecture: ${DEBIAN_ARCH[arch]}`,
    "Maintainer: The Merlon authors <maintainers@merlon.dev>",
    `Installed-Size: ${Math.ceil(bytes / 1024)}`,
    "Depends: libc6 (>= 2.28), libstdc++6",
    "Section: net",
    "Priority: optional",
    "Homepage: https://merlon.dev",
    "Description: mesh security policy that explains itself",
    " The control plane, the proxy, the command line and the checker of proofs of Merlon.",
    "",
  ].join("\n")
  return ar([
    { name: "debian-binary", content: Buffer.from("2.0\n") },
    {
      name: "control.tar.gz",
      content: tarGz([
        file("./control", control),
        file("./postinst", readFileSync("scripts/release/debian-postinst.sh"), true),
      ]),
    },
    { name: "data.tar.gz", content: data },
  ])
}

/** Debian requires man pages to be compressed, at level 9 and without a time. */
function debianShellFile({ path, text }: ShellFile): Entry {
  if (!path.includes("/man/")) return file(`./usr/${path}`, text)
  const packed = gzipSync(text, { level: 9 })
  packed[9] = 255
  return file(`./usr/${path}.gz`, packed)
}

function parents(path: string): readonly string[] {
  const parts = path.split("/").slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join("/")).filter(folder => folder !== ".")
}
