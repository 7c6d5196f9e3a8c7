// SPDX-License-Identifier: Apache-2.0
// An image in the layout of the Open Container Initiative, as one archive that container runtimes import. Pure: layers
// in, bytes out, and the same bytes for the same layers.

import { createHash } from "node:crypto"
import { gzipSync } from "node:zlib"
import { type Entry, withFolders, writeTar } from "./tar.js"

export interface Layer {
  readonly name: string
  /** Digest of the uncompressed archive. */
  readonly diffId: string
  readonly compressed: Buffer
}

export interface Platform {
  readonly architecture: string
  readonly layers: readonly Layer[]
}

export interface ImageConfig {
  /** The reference that users pull, with its tag. */
  readonly reference: string
  readonly user: string
  readonly entrypoint: readonly string[]
  readonly environment: readonly string[]
  readonly workingFolder: string
  readonly labels: { readonly [name: string]: string }
}

export interface BuiltImage {
  readonly archive: Buffer
  /** Digest of the manifest or index that a runtime resolves the tag to. */
  readonly digest: string
}

const MEDIA = "application/vnd.oci.image"

export function layer(name: string, entries: readonly Entry[]): Layer {
  const tar = writeTar(withFolders(entries))
  return { name, diffId: digestOf(tar), compressed: gzipSync(tar) }
}

export function ociArchive(config: ImageConfig, platforms: readonly Platform[]): BuiltImage {
  const blobs = new Map<string, Buffer>()
  const put = (content: Buffer, mediaType: string) => {
    const digest = digestOf(content)
    blobs.set(digest, content)
    return { mediaType, digest, size: content.length }
  }
  const manifests = platforms.map(platform => {
    const { architecture, layers } = platform
    const manifest = {
      schemaVersion: 2,
      mediaType: `${MEDIA}.manifest.v1+json`,
      config: put(json(configOf(config, platform)), `${MEDIA}.config.v1+json`),
      layers: layers.map(({ compressed }) => put(compressed, `${MEDIA}.layer.v1.tar+gzip`)),
    }
    return { ...put(json(manifest), manifest.mediaType), platform: { architecture, os: "linux" } }
  })
  const list = put(json(indexOf(manifests)), `${MEDIA}.index.v1+json`)
  const named = {
    ...list,
    annotations: {
      "io.containerd.image.name": config.reference,
      "org.opencontainers.image.ref.name": config.reference.slice(config.reference.lastIndexOf(":") + 1),
    },
  }
  const files = new Map<string, Buffer>([
    ["oci-layout", json({ imageLayoutVersion: "1.0.0" })],
    ["index.json", json(indexOf([named]))],
    ...[...blobs].map(([digest, content]) => [`blobs/sha256/${digest.slice(7)}`, content] as const),
  ])
  const entries = [...files].map(([path, content]): Entry => ({ path, kind: "file", content, mode: 0o644 }))
  return { archive: writeTar(withFolders(entries)), digest: list.digest }
}

function configOf(config: ImageConfig, { architecture, layers }: Platform) {
  return {
    // A fixed time, so that building the same commit again gives the same bytes.
    created: "1970-01-01T00:00:00Z",
    architecture,
    os: "linux",
    config: {
      User: config.user,
      Env: config.environment,
      Entrypoint: config.entrypoint,
      WorkingDir: config.workingFolder,
      Labels: config.labels,
    },
    rootfs: { type: "layers", diff_ids: layers.map(({ diffId }) => diffId) },
    history: layers.map(({ name }) => ({ created: "1970-01-01T00:00:00Z", created_by: name })),
  }
}

function indexOf(manifests: readonly object[]) {
  return { schemaVersion: 2, mediaType: `${MEDIA}.index.v1+json`, manifests }
}

function json(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value))
}

function digestOf(content: Buffer): string {
  return `sha256:${createHash("sha256").update(content).digest("hex")}`
}
