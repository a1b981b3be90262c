#!/usr/bin/env bash
# Writes a root filesystem as a tar archive: the files of installed Debian packages and of all that they depend on, copied
# from this machine. usage: rootfs.sh PACKAGE… > rootfs.tar
set -euo pipefail

# What every program expects, named here because packages do not depend on it.
packages=(base-files base-passwd bash coreutils dash debianutils findutils grep gzip hostname libc-bin login mawk ncurses-base passwd perl-base sed tar util-linux "$@")
names=$(apt-cache depends --recurse --installed --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "${packages[@]}" |
  grep '^[a-z0-9]' | sort -u)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dpkg-query -W -f '${Package} ${Status}\n' $names 2>/dev/null | sed -n 's/ install ok installed$//p' | sort -u >"$work/installed" || true
# Documentation is left out. Packages name files below /bin and /lib, which are links into /usr.
xargs dpkg -L <"$work/installed" | grep '^/.' | sed -E 's#^/(bin|sbin|lib|lib64)(/|$)#/usr/\1\2#; s#^/##' | sort -u |
  grep -Ev '^(proc|sys|dev|etc/(hosts|hostname|resolv.conf|passwd|group))(/|$)|^usr/share/(doc|man|locale|info|lintian)/' >"$work/list"

root=$work/root
mkdir -p "$root"/{usr/bin,usr/sbin,usr/lib,usr/lib64,proc,sys,dev,tmp,run,root,var/tmp,etc,var/lib/millrace-standin}
chmod 1777 "$root/tmp" "$root/var/tmp"
for link in bin sbin lib lib64; do ln -s "usr/$link" "$root/$link"; done
# What a package lists and an image leaves out is passed over.
tar -C / --no-recursion -T "$work/list" --ignore-failed-read -cf - 2>/dev/null | tar -C "$root" -xf -
cp /etc/ld.so.cache "$root/etc/"
cp -r /etc/alternatives "$root/etc/"
cp -rL /etc/ssl/certs "$root/etc/ssl/" 2>/dev/null || true # without ca-certificates there are none
printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n' >"$root/etc/passwd"
printf 'root:x:0:\nnogroup:x:65534:\n' >"$root/etc/group"
cp "$work/installed" "$root/var/lib/millrace-standin/packages"
tar -C "$root" -cf - .
