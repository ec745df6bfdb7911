/** An agent that knows the weather: its tools and its model act under permits. docs/doors/ai-sdk.md says how to start it. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { sealModel, sealTools } from "@runseal/agents/ai-sdk"
import { createClient } from "@runseal/sdk"
import { generateText, stepCountIs, tool, wrapLanguageModel } from "ai"
import { z } from "zod"

const client = createClient()
const options = { agent: "weather-agent" }
const provider = createOpenAICompatible({
  name: "local",
  baseURL: process.env.MODEL_URL ?? "http://127.0.0.1:11434/v1",
})

const tools = sealTools(
  client,
  {
    weather: tool({
      description: "The weather of a city.",
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => {
        if (city === "Atlantis") throw new Error("there is no such city")
        return { city, degrees: 21 }
      },
    }),
    alarm: tool({
      description: "Sends a message to everybody.",
      inputSchema: z.object({ text: z.string() }),
      execute: async ({ text }) => ({ sent: text }),
    }),
  },
  options,
)

const { text } = await generateText({
  model: wrapLanguageModel({ model: provider(process.env.MODEL ?? "llama"), middleware: sealModel(client, options) }),
  tools,
  prompt: process.argv[2] ?? "What is the weather in Ghent?",
  stopWhen: stepCountIs(8),
  maxRetries: 0,
})
process.stdout.write(`${text}\n`)
