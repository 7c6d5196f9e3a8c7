// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs"
import { expect, it } from "vitest"
import { imageConfig, PROGRAMS_FOLDER, programFiles, systemFiles } from "../../scripts/image/contents.js"
import { readParts } from "../../scripts/image/parts.js"

const BUNDLE = "packages/cli/bundle"
const { version } = JSON.parse(readFileSync("package.json", "utf8"))
const image = imageConfig("merlon", version, version)
const text = readFileSync("deploy/image/Dockerfile", "utf8").replaceAll("\\\n", " ")
const last = text.slice(text.lastIndexOf("\nFROM "))
const instruction = (name: string): readonly string[] =>
  [...last.matchAll(new RegExp(`^${name} (.*)$`, "gm"))].map(([, rest = ""]) => rest.trim())

it("gives the same programs, word by word, as the image without a daemon", () => {
  const written = [...last.matchAll(/printf '([^']*)' > \/(\S+)/g)].map(([, content = "", path = ""]) => [
    path,
    content.replaceAll("\\n", "\n"),
  ])
  const files = programFiles(BUNDLE, version)
  const ours = files.flatMap(entry =>
    entry.kind === "file" && entry.path.startsWith("usr/local/bin/") ? [[entry.path, entry.content.toString()]] : [],
  )
  expect(written).toEqual(ours)
  const executable = last
    .match(/chmod 0755 ([^\n&]*)/)?.[1]
    ?.trim()
    .split(/\s+/)
  expect(executable).toEqual(ours.map(([path]) => `/${path}`))
  const about = files.find(({ path }) => path === `${PROGRAMS_FOLDER}/package.json`)
  expect(last).toContain(`echo '${about?.kind === "file" ? about.content.toString().trim() : ""}' > package.json`)
})

it("is run by the same user, in the same folder, with the same entry point, and says the same of itself", () => {
  expect(instruction("USER")).toEqual([image.user])
  expect(instruction("WORKDIR")).toEqual([image.workingFolder])
  expect(JSON.parse(instruction("ENTRYPOINT")[0] ?? "")).toEqual(image.entrypoint)
  const labels = (instruction("LABEL")[0] ?? "").split(/\s+/).map(label => label.split("="))
  expect(Object.fromEntries(labels)).toEqual(image.labels)
  expect(instruction("ENV")).toEqual(["NODE_ENV=production"])
  const state = systemFiles().find(({ path }) => path === "var/lib/merlon")
  expect(last).toContain(`install -d -m 0${state?.kind === "folder" ? state.mode?.toString(8) : ""} /var/lib/merlon`)
})

it("stands on the same release of Node and of Debian, and brings what captures traffic", () => {
  const { node, debian } = readParts()
  const base = `node:${node.version.split(".")[0]}-${debian.suite}-slim`
  expect([...text.matchAll(/^FROM (\S+)/gm)].map(([, image]) => image)).toEqual([base, base])
  expect(last).toMatch(/apt-get install -y --no-install-recommends nftables/)
  expect(debian.packages.amd64.map(({ name }) => name)).toContain("nftables")
})

it("is built from what a clean checkout has, whatever was built in this one", () => {
  const lines = (file: string): readonly string[] =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter(line => line !== "")
  // A pattern of git without a folder means every folder; one of Docker means the first alone.
  const made = lines(".gitignore")
    .map(pattern => pattern.replace(/\/$/, ""))
    .map(pattern => (pattern.includes("/") ? pattern : `**/${pattern}`))
  expect(lines(".dockerignore")).toEqual([".git", ...made])
})
