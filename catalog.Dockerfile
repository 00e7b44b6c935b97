# A catalog is data: OLM serves it with its own opm, so the image needs no base image.
FROM scratch
LABEL operators.operatorframework.io.index.configs.v1=/configs
COPY catalog /configs
