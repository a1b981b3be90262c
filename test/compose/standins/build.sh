#!/usr/bin/env bash
# Makes images under the names that Dockerfile and docker-compose.yml ask for, from the packages installed on this machine and
# from bin/millrace-temporal: for a machine that reaches no registry. An image that the engine has from elsewhere is kept, so
# that the test then runs on the real one.
set -euo pipefail
cd "$(dirname "$0")"
root=../../..

# key FILES… PACKAGES names what a stand-in is made of: one that is current is not made again.
key() { { cat build.sh rootfs.sh; dpkg-query -W; sha256sum "$@"; } | sha256sum | cut -c1-16; }

# wanted NAME KEY says whether the engine lacks an image of that name, or has an older stand-in.
wanted() {
  local label
  label=$(docker image inspect -f '{{index .Config.Labels "millrace.standin"}}' "$1" 2>/dev/null) || return 0
  [ -n "$label" ] && [ "$label" != "$2" ]
}

# image NAME PACKAGES FILES… makes an image of packages and of files given as SOURCE:TARGET. The rest of its Dockerfile comes on
# standard input.
image() {
  local name=$1 packages=$2 context made
  shift 2
  made=$(key "${@%%:*}")
  wanted "$name" "$made" || { echo "$name: there already"; cat >/dev/null; return 0; }
  context=$(mktemp -d)
  # shellcheck disable=SC2086 # a list
  ./rootfs.sh $packages >"$context/rootfs.tar"
  for file in "$@"; do
    install -D -m 755 "${file%%:*}" "$context/files/${file#*:}"
  done
  { printf 'FROM scratch\nADD rootfs.tar /\nCOPY files/ /\nLABEL millrace.standin=%s\n' "$made"; cat; } >"$context/Dockerfile"
  docker build -q -t "$name" "$context" >/dev/null
  rm -rf "$context"
  echo "$name: a stand-in"
}

named() { sed -n "s|^ *image: *\($1:[^ ]*\)$|\1|p" "$root/docker-compose.yml"; }

image "$(sed -n 's/^FROM \(debian:[^ ]*\)$/\1/p' "$root/Dockerfile")" "ca-certificates ffmpeg wget" debian/apt-get:usr/bin/apt-get <<<'CMD ["bash"]'

server=$(dpkg-query -W -f '${Package}\n' 'postgresql-[0-9]*' | grep -Ex 'postgresql-[0-9]+' | sort -V | tail -1)
image "$(named postgres)" "$server util-linux" postgres/entrypoint:usr/local/bin/docker-entrypoint.sh <<'DOCKERFILE'
RUN groupadd --system postgres && useradd --system --gid postgres postgres
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
DOCKERFILE

image "$(named temporalio/auto-setup)" "ca-certificates hostname" temporal/entrypoint.sh:etc/temporal/entrypoint.sh temporal/temporal:usr/local/bin/temporal \
  "$root/bin/millrace-temporal:usr/local/bin/millrace-temporal" <<'DOCKERFILE'
ENTRYPOINT ["/etc/temporal/entrypoint.sh"]
CMD ["autosetup"]
DOCKERFILE
