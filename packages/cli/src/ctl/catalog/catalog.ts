// SPDX-License-Identifier: Apache-2.0
// The kinds that the cluster serves, requested as late and as narrowly as possible: our own kinds need no request, a
// document names its group, and only an unknown name requires full discovery.

import { type Api, ApiError } from "@merlon/control/kubernetes"
import type { MeshNames } from "@merlon/policy/mesh"
import { servedVersions } from "@merlon/policy/resources"
import { nearest } from "@merlon/policy/shape"
import { CommandError } from "../exit.js"
import { fieldsOf, listOf } from "../foreign.js"
import { knownKinds } from "./known-kinds.js"
import { isCalled, type Resource } from "./resource.js"

export class Catalog {
  readonly #api: Api
  readonly #names: MeshNames
  readonly #known: readonly Resource[]
  readonly #discovered = new Map<string, Promise<readonly Resource[]>>()

  constructor(api: Api, names: MeshNames) {
    this.#api = api
    this.#names = names
    this.#known = knownKinds(names)
  }

  /** The kind of a document. */
  async ofDocument(apiVersion: string, kind: string): Promise<Resource> {
    const slash = apiVersion.indexOf("/")
    const [group, version] = slash === -1 ? ["", apiVersion] : [apiVersion.slice(0, slash), apiVersion.slice(slash + 1)]
    const own = this.#known.find(known => known.group === group && known.kind === kind)
    if (own !== undefined && servedVersions(this.#names).includes(version)) return { ...own, version }
    const served = await this.#group(group, version)
    const found = served.find(resource => resource.kind === kind)
    if (found !== undefined) return found
    const ours = this.#known.find(known => known.kind === kind)
    const meant =
      ours === undefined
        ? nearest(
            kind,
            served.map(resource => resource.kind),
          )
        : undefined
    throw new CommandError(
      "unserved-kind",
      `the cluster serves no \`${kind}\` under \`${apiVersion}\`; ${
        ours !== undefined
          ? `write \`apiVersion: ${ours.group}/${this.#names.version}\``
          : meant !== undefined
            ? `did you mean \`${meant}\`?`
            : "install its definition first, or mend `apiVersion`"
      }`,
    )
  }

  /** The kinds that a user's word means: one kind, or all of a category. */
  async called(word: string): Promise<readonly Resource[]> {
    for (const version of [...servedVersions(this.#names)].reverse()) {
      const own = named(
        this.#known.map(known => ({ ...known, version })),
        word,
      )
      if (own.length > 0) return own
    }
    const core = (await this.#group("", "v1")).filter(resource => isCalled(resource, word))
    if (core.length > 0) return core.slice(0, 1)
    const all = await this.#everything()
    const found = named(all, word)
    if (found.length > 0) return found
    const words = [...this.#known, ...all].flatMap(({ plural, singular }) => [plural, singular])
    const meant = nearest(word, words)
    throw new CommandError(
      "unserved-kind",
      `the cluster serves no kind \`${word}\`; ${
        meant === undefined ? "`kubectl api-resources` lists what there is" : `did you mean \`${meant}\`?`
      }`,
    )
  }

  async #everything(): Promise<readonly Resource[]> {
    const groups = preferredVersions(await this.#api.request({ method: "GET", path: "/apis" }))
    const answers = await Promise.allSettled([
      this.#group("", "v1"),
      ...groups.map(({ group, version }) => this.#group(group, version)),
    ])
    // An extension API whose server is down must not block access to everything else.
    return answers.flatMap(answer => (answer.status === "fulfilled" ? answer.value : []))
  }

  #group(group: string, version: string): Promise<readonly Resource[]> {
    const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`
    const before = this.#discovered.get(path)
    if (before !== undefined) return before
    const answer = this.#api.request({ method: "GET", path }).then(
      list => resourcesOf(list, group, version),
      (error: unknown) => {
        // Not cached: a definition that is applied next may add it.
        this.#discovered.delete(path)
        if (error instanceof ApiError && error.code === 404) return []
        throw error
      },
    )
    this.#discovered.set(path, answer)
    return answer
  }
}

function named(resources: readonly Resource[], word: string): readonly Resource[] {
  const one = resources.find(resource => isCalled(resource, word))
  if (one !== undefined) return [one]
  return resources.filter(({ categories }) => categories.includes(word.toLowerCase()))
}

function preferredVersions(list: unknown): readonly { readonly group: string; readonly version: string }[] {
  return listOf(fieldsOf(list).groups).flatMap(item => {
    const { name, preferredVersion } = fieldsOf(item)
    const { version } = fieldsOf(preferredVersion)
    return typeof name === "string" && typeof version === "string" ? [{ group: name, version }] : []
  })
}

function resourcesOf(list: unknown, group: string, version: string): readonly Resource[] {
  return listOf(fieldsOf(list).resources).flatMap(item => {
    const { name, kind, singularName, namespaced, shortNames, categories } = fieldsOf(item)
    // Subresources such as `pods/log` are not kinds.
    if (typeof name !== "string" || typeof kind !== "string" || name.includes("/")) return []
    const singular = typeof singularName === "string" && singularName !== "" ? singularName : kind.toLowerCase()
    return [
      {
        group,
        version,
        plural: name,
        singular,
        kind,
        namespaced: namespaced === true,
        shortNames: wordsOf(shortNames),
        categories: wordsOf(categories),
      },
    ]
  })
}

function wordsOf(value: unknown): readonly string[] {
  return listOf(value).filter(item => typeof item === "string")
}
