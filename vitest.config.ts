// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "vitest/config"
import { SHORT_LIVED } from "./scripts/ahead/flags.js"
import { builtOfSources } from "./test/built-of-sources.js"
import { hasChromium } from "./test/console/support/chromium.js"
import { PATIENT } from "./test/patient.js"
import { SlowestFirst } from "./test/slowest.js"
import { workers } from "./test/workers.js"

declare module "vitest" {
  interface ProvidedContext {
    /** By how much a property is tried more often than by default. */
    readonly effort: number
  }
}

// Packages are tested from source: the condition below is the one their `exports` answer to.
const conditions = ["@merlon/source"]
const fromSource = { resolve: { conditions }, ssr: { resolve: { conditions } } }

// Systems are tested as they were built. What is built is loaded by Node itself: to translate it all again for every file took
// longer than most of their tests.
const asBuilt = { deps: { external: [/\/packages\/[^/]+\/dist\//] } }

const UNITS = ["packages/*/src/**/*.test.ts", "samples/src/**/*.test.ts"]

/** A young generation that need not grow first: to copy what it holds was a tenth of the work of the units of `policy`. */
const ROOMY = ["--min-semi-space-size=16", "--max-semi-space-size=32"]

/** Changes what Node shows to modules while they load, so it needs ones that nobody has loaded before. */
const ALONE = ["packages/xserver/src/process/reads-by-events.test.ts"]

/** Tests in a browser share one mesh. */
const CONSOLE = "test/console/**/*.test.ts"

for (const [name, value] of Object.entries(PATIENT)) process.env[name] ??= value

// A machine's own roots, where it names some, are read by each of thousands of processes as it starts, two thirds of what Node
// does until then; nothing here calls beyond this machine.
delete process.env.NODE_EXTRA_CA_CERTS

// kubectl lives for a fraction of a second, and a tenth of its work was to collect a few megabytes.
process.env.GOGC ??= "800"

export default defineConfig(({ mode }) => {
  const effort = mode === "long" ? 25 : 1
  // Said to each project: what a project extends is read again, without the mode.
  const setupFiles = mode === "cpu" ? ["test/cpu-seconds.ts"] : []
  if (!hasChromium()) console.warn("!!! there is no chromium here: the console is not tried in a browser in this run")
  return {
    test: {
      // What is waited for comes at once or, on a machine with a tenth of a core to spare, a minute later. Whoever sets a
      // shorter limit wagers on the machine (test/architecture/patience.test.ts).
      testTimeout: 120_000 * effort,
      hookTimeout: 300_000,
      expect: { poll: { timeout: 90_000 } },
      maxWorkers: workers(),
      sequence: { sequencer: SlowestFirst },
      provide: { effort },
      projects: [
        // Loading the modules under test took longer than testing them: files of a worker share them.
        {
          extends: true,
          ...fromSource,
          test: {
            name: "units",
            include: UNITS,
            exclude: ALONE,
            isolate: false,
            setupFiles,
            execArgv: [...ROOMY, ...SHORT_LIVED],
          },
        },
        { extends: true, ...fromSource, test: { name: "alone", include: ALONE, setupFiles } },
        {
          extends: true,
          plugins: [builtOfSources],
          test: {
            name: "systems",
            include: ["test/**/*.test.ts"],
            exclude: [CONSOLE],
            setupFiles,
            server: asBuilt,
            isolate: false,
            execArgv: [...SHORT_LIVED],
            testTimeout: 300_000,
            hookTimeout: 300_000,
          },
        },
        {
          extends: true,
          plugins: [builtOfSources],
          test: {
            name: "console",
            include: hasChromium() ? [CONSOLE] : [],
            setupFiles: [...setupFiles, "test/console/support/each-file.ts"],
            server: asBuilt,
            isolate: false,
            execArgv: [...SHORT_LIVED],
            globalSetup: "test/console/support/set-up.ts",
            testTimeout: 300_000,
            hookTimeout: 300_000,
          },
        },
      ],
    },
  }
})
