/** An agent that knows the weather: its tools and its model act under permits. docs/doors/openai-agents.md says how to start it. */
import { Agent, OpenAIProvider, Runner, tool } from "@openai/agents"
import { sealFunctions, sealModels } from "@runseal/agents/openai-agents"
import { createClient } from "@runseal/sdk"
import { z } from "zod"

const client = createClient()
const options = { agent: "weather-agent" }
const sealed = sealFunctions(client, options)

const weather = tool({
  name: "weather",
  description: "The weather of a city.",
  parameters: z.object({ city: z.string() }),
  execute: sealed("weather", async ({ city }: { city: string }) => {
    if (city === "Atlantis") throw new Error("there is no such city")
    return { city, degrees: 21 }
  }),
})
const alarm = tool({
  name: "alarm",
  description: "Sends a message to everybody.",
  parameters: z.object({ text: z.string() }),
  execute: sealed("alarm", async ({ text }: { text: string }) => ({ sent: text })),
})

const provider = new OpenAIProvider({
  apiKey: process.env.MODEL_KEY ?? "none",
  baseURL: process.env.MODEL_URL ?? "http://127.0.0.1:11434/v1",
  useResponses: false,
})
const runner = new Runner({ modelProvider: sealModels(client, provider, options), tracingDisabled: true })
const agent = new Agent({
  name: options.agent,
  instructions: "Answer in one sentence.",
  model: process.env.MODEL ?? "llama",
  tools: [weather, alarm],
})

const { finalOutput } = await runner.run(agent, process.argv[2] ?? "What is the weather in Ghent?")
process.stdout.write(`${finalOutput}\n`)
