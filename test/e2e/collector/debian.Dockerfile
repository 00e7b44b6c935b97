# Programs of the machine that builds it, with the libraries that they load: `make image-archives` puts them into the folder.
FROM scratch
COPY . /
USER 65534:65534
