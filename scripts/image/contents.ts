// SPDX-License-Identifier: Apache-2.0
// The files of the image and their paths. It has no shell, no package manager and no login.

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { koffiBinary } from "../release/koffi-files.js"
import type { ImageConfig } from "./oci.js"
import type { Architecture } from "./parts.js"
import type { Entry } from "./tar.js"

/** The user of injected proxies. */
export const USER = 1337
export const PROGRAMS_FOLDER = "opt/merlon"

export function imageConfig(name: string, tag: string, version: string): ImageConfig {
  return {
    reference: `docker.io/library/${name}:${tag}`,
    user: `${USER}:${USER}`,
    entrypoint: ["/usr/local/bin/merlond"],
    environment: ["PATH=/usr/local/bin:/usr/sbin:/usr/bin", "NODE_ENV=production"],
    workingFolder: `/${PROGRAMS_FOLDER}`,
    labels: {
      "org.opencontainers.image.title": name,
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "Apache-2.0",
    },
  }
}

export function systemFiles(): readonly Entry[] {
  return [
    // Debian's packages use both paths of libraries and programs.
    link("bin", "usr/bin"),
    link("sbin", "usr/sbin"),
    link("lib", "usr/lib"),
    link("lib64", "usr/lib64"),
    { path: "usr/lib64", kind: "folder" },
    { path: "tmp", kind: "folder", mode: 0o1777 },
    { path: "var/lib/merlon", kind: "folder", mode: 0o777 },
    text("etc/passwd", `root:x:0:0::/:/usr/sbin/nologin\nmerlon:x:${USER}:${USER}::/:/usr/sbin/nologin\n`),
    text("etc/group", `root:x:0:\nmerlon:x:${USER}:\n`),
    text("etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"),
  ]
}

export function programFiles(bundle: string, version: string): readonly Entry[] {
  const code = readdirSync(bundle, { recursive: true, encoding: "utf8" })
    .filter(name => name.endsWith(".js"))
    .map(name => text(`${PROGRAMS_FOLDER}/${name}`, readFileSync(join(bundle, name))))
  return [
    ...code,
    text(`${PROGRAMS_FOLDER}/package.json`, `${JSON.stringify({ name: "merlon", version, type: "module" })}\n`),
    program("merlond", `import("/${PROGRAMS_FOLDER}/merlond.js")`),
    program("merlonctl", `import("/${PROGRAMS_FOLDER}/merlonctl.js")`),
    // The name under which the mission's commands call it.
    program("xclient", `process.argv.splice(2, 0, "xclient")\nimport("/${PROGRAMS_FOLDER}/merlond.js")`),
  ]
}

/** Files that the programs load and that are built for one architecture. */
export function libraryFiles(bundle: string, architecture: Architecture): readonly Entry[] {
  const { path } = koffiBinary(architecture === "amd64" ? "x64" : "arm64")
  return [text(`${PROGRAMS_FOLDER}/${path}`, readFileSync(join(bundle, path)))]
}

export function sampleFiles(folder: string): readonly Entry[] {
  return ["dist", "keys"].flatMap(part =>
    readdirSync(join(folder, part))
      .filter(name => /\.js(on)?$/.test(name))
      .map(name => text(`${PROGRAMS_FOLDER}/samples/${part}/${name}`, readFileSync(join(folder, part, name)))),
  )
}

function link(path: string, target: string): Entry {
  return { path, kind: "link", target }
}

function text(path: string, content: string | Buffer): Entry {
  return { path, kind: "file", content: Buffer.from(content), mode: 0o644 }
}

function program(name: string, source: string): Entry {
  return {
    path: `usr/local/bin/${name}`,
    kind: "file",
    content: Buffer.from(`#!/usr/bin/node\n${source}\n`),
    mode: 0o755,
  }
}
