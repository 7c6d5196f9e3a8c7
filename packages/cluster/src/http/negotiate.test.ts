// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { ALL_MEDIA, negotiate, objectForms } from "./negotiate.js"

const offer = { media: ALL_MEDIA, forms: objectForms }
const table = { kind: "Table", group: "meta.k8s.io", version: "v1" }

it.each<[string | undefined, object | undefined]>([
  [undefined, { media: "application/json" }],
  ["*/*", { media: "application/json" }],
  ["application/yaml", { media: "application/yaml" }],
  ["text/html, */*;q=0.5", { media: "application/json" }],
  ["application/json;as=Table;v=v1;g=meta.k8s.io,application/json", { media: "application/json", as: table }],
  ["application/json;as=Table;v=v9;g=meta.k8s.io,application/json", { media: "application/json" }],
  ["application/json;q=0.1,application/yaml", { media: "application/yaml" }],
  ["application/vnd.kubernetes.protobuf,application/json", { media: "application/json" }],
  ["application/vnd.kubernetes.protobuf", { media: "application/vnd.kubernetes.protobuf" }],
  ["application/json;pretty=1", { media: "application/json", pretty: true }],
])("%s", (header, expected) => expect(negotiate(header, offer)).toMatchObject(expected ?? {}))

it.each(["text/html", "application/json;as=Nothing;v=v1;g=meta.k8s.io", "application/json;q=0"])(
  "accepts nothing in %s",
  header => {
    expect(negotiate(header, offer)).toBeUndefined()
  },
)
