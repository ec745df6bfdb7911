# syntax=docker/dockerfile:1
# The Runseal service. docs/deployment.md explains how to build and run it.
ARG NODE_IMAGE=node:24.21.0-bookworm-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /src
COPY . .
# The commit that every record names. The build context has no git, so it is an argument.
ARG SOURCE_REVISION=""
RUN npm ci \
  && RUNSEAL_SOURCE_REVISION="${SOURCE_REVISION}" npm run pack -- /packages \
  && mkdir /app \
  && tar -xzf /packages/runseal-server-*.tgz -C /app --strip-components=1
# Exactly the packages of the lock file; the files of Swagger UI and drizzle-orm are part of the server package.
RUN npm ci --omit=dev --ignore-scripts --workspace @runseal/server \
  && rm -rf node_modules/@runseal node_modules/.bin node_modules/drizzle-orm node_modules/swagger-ui-dist node_modules/@scarf/scarf node_modules/@fontsource/ibm-plex-mono node_modules/@fontsource/ibm-plex-sans \
  && mv node_modules /app/node_modules

FROM ${NODE_IMAGE}
LABEL org.opencontainers.image.title="Runseal" \
  org.opencontainers.image.description="Run attestation service" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /app /app
RUN install -d -o 1000 -g 1000 -m 0700 /var/lib/runseal
ENV NODE_ENV=production \
  RUNSEAL_HOST=0.0.0.0 \
  RUNSEAL_PORT=8080 \
  RUNSEAL_DATA_DIR=/var/lib/runseal
USER 1000:1000
WORKDIR /var/lib/runseal
VOLUME /var/lib/runseal
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.RUNSEAL_PORT}/health`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/runseal-server.js"]
