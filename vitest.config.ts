// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config"
import { programTags } from "./test/runner/programs.js"

declare module "vitest" {
  interface ProvidedContext {
    /** How many times more often than by default a property is tried. */
    readonly effort: number
  }
}

// Packages are tested from source: their `exports` answer to this condition.
const conditions = ["@merlon/source"]
const fromSource = { resolve: { conditions }, ssr: { resolve: { conditions } } }

// Whole systems are tested as built; Node loads what was built without Vite translating it again.
const asBuilt = { deps: { external: [/\/packages\/[^/]+\/dist\//] } }

const UNITS = ["packages/*/src/**/*.test.ts", "samples/src/**/*.test.ts", "scripts/**/*.test.ts"]

/** Changes what Node shows to modules while they load, so it needs modules that no other test has loaded. */
const ALONE = ["packages/xserver/src/process/reads-by-events.test.ts"]

/** Browser tests share one mesh. */
const CONSOLE = "test/console/**/*.test.ts"

// Tests call nothing beyond this machine, so its own roots of trust must not matter to them.
delete process.env.NODE_EXTRA_CA_CERTS

export default defineConfig(({ mode }) => {
  const effort = mode === "long" ? 25 : 1
  // Given to each project: what a project extends is read again, without the mode.
  const provide = { effort }
  const testTimeout = 120_000 * effort
  return {
    test: {
      hookTimeout: 300_000,
      expect: { poll: { timeout: 90_000 } },
      // Whole systems wait more than they work, so more files than cores run at once.
      maxWorkers: 4,
      tags: programTags(),
      reporters: ["default", "./test/runner/skipped-table.ts"],
      projects: [
        // Files of a worker share the modules under test: loading them takes longer than testing them.
        {
          extends: true,
          ...fromSource,
          test: { name: "units", include: UNITS, exclude: ALONE, isolate: false, provide, testTimeout },
        },
        { extends: true, ...fromSource, test: { name: "alone", include: ALONE, provide, testTimeout } },
        {
          extends: true,
          test: {
            name: "systems",
            provide,
            include: ["test/**/*.test.ts"],
            exclude: [CONSOLE],
            server: asBuilt,
            isolate: false,
            testTimeout: 300_000,
            hookTimeout: 300_000,
          },
        },
        {
          extends: true,
          test: {
            name: "console",
            provide,
            include: [CONSOLE],
            setupFiles: ["test/console/support/each-file.ts"],
            server: asBuilt,
            isolate: false,
            // Each poll takes three processes: the worker, Vitest's main process and the browser.
            expect: { poll: { timeout: 90_000, interval: 200 } },
            globalSetup: "test/console/support/set-up.ts",
            testTimeout: 300_000,
            hookTimeout: 300_000,
          },
        },
      ],
    },
  }
})
