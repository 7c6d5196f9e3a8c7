// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest"
import { objectOf } from "../registry/foreign.js"
import { membersOf } from "./outbound-members.js"
import { OPTIONS } from "./testing/pods.js"

test.each([
  ["registry:5000/a/merlon:1.2.3", "registry:5000/a/merlon:1.2.3", true],
  ["registry:5000/a/merlon:1.3.0", "registry:5000/a/merlon:1.2.3", true],
  ["registry:5000/a/merlon:1.3.0", "registry:5000/a/merlon@sha256:abc", true],
  ["registry:5000/a/merlon:1.3.0", "registry:5000/a/merlon:1.2.3@sha256:abc", true],
  ["registry:5000/a/merlon:1.3.0", "registry:6000/a/merlon:1.3.0", false],
  ["merlon:1.3.0", "merlon-samples:1.3.0", false],
  ["merlon:1.3.0", "evil/merlon:1.3.0", false],
])("under the image %s a container of %s calls through the mesh: %s", (image, of, expected) => {
  const asked = { annotations: {}, callsOut: false, containers: [{ name: "a", image: of }], initContainers: [] }
  const [container] = membersOf(asked, { ...OPTIONS, image }).containers
  expect(objectOf(container).env !== undefined && JSON.stringify(container).includes("MERLON_BOOTSTRAP")).toBe(expected)
})
