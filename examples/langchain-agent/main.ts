/** An agent that knows the weather: its tools and its model act under permits. docs/doors/langchain.md says how to start it. */
import { tool } from "@langchain/core/tools"
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph"
import { ToolNode, toolsCondition } from "@langchain/langgraph/prebuilt"
import { ChatOpenAI } from "@langchain/openai"
import { sealCallback, sealTools } from "@runseal/agents/langchain"
import { createClient } from "@runseal/sdk"
import { z } from "zod"

const client = createClient()
const options = { agent: "weather-agent" }

const weather = tool(
  async ({ city }) => {
    if (city === "Atlantis") throw new Error("there is no such city")
    return { city, degrees: 21 }
  },
  { name: "weather", description: "The weather of a city.", schema: z.object({ city: z.string() }) },
)
const alarm = tool(async ({ text }) => ({ sent: text }), {
  name: "alarm",
  description: "Sends a message to everybody.",
  schema: z.object({ text: z.string() }),
})
const tools = sealTools(client, [weather, alarm], options)

const model = new ChatOpenAI({
  model: process.env.MODEL ?? "llama",
  apiKey: process.env.MODEL_KEY ?? "none",
  configuration: { baseURL: process.env.MODEL_URL ?? "http://127.0.0.1:11434/v1" },
  maxRetries: 0,
}).bindTools(tools)

const agent = new StateGraph(MessagesAnnotation)
  .addNode("model", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
  .addNode("tools", new ToolNode(tools))
  .addEdge("__start__", "model")
  .addConditionalEdges("model", toolsCondition)
  .addEdge("tools", "model")
  .compile()

const { messages } = await agent.invoke(
  { messages: [{ role: "user", content: process.argv[2] ?? "What is the weather in Ghent?" }] },
  { callbacks: [sealCallback(client, options)] },
)
process.stdout.write(`${messages.at(-1)?.text}\n`)
