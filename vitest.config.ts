// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config"

// Packages are tested from source: the condition below is the one their `exports` answer to.
const conditions = ["@merlon/source"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["packages/*/src/**/*.test.ts", "samples/src/**/*.test.ts", "test/**/*.test.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
})
