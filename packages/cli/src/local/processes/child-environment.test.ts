// SPDX-License-Identifier: Apache-2.0
import { expect, it } from "vitest"
import { childEnvironment } from "./child-environment.js"

it("passes on the user's own variables, without settings of these programs", () => {
  const env = { PATH: "/bin", MERLON_LISTEN: "0.0.0.0", KUBECONFIG: "/x", PORT: "1", HOSTNAME: "h", LANG: "C" }
  expect(childEnvironment(env, { MERLON_BOOTSTRAP: "b" })).toEqual({
    PATH: "/bin",
    HOSTNAME: "h",
    LANG: "C",
    MERLON_BOOTSTRAP: "b",
  })
})
