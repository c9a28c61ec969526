{
cache=
if [ -n "${XDG_CACHE_HOME:-}" ]; then cache=$XDG_CACHE_HOME/kgen
elif [ -n "${HOME:-}" ]; then cache=$HOME/.cache/kgen; fi
umask 077
own=
if [ -z "$cache" ] || ! mkdir -p "$cache/nodes" 2>/dev/null || ! [ -w "$cache/nodes" ]; then
  cache=$(mktemp -d) && own=$cache && mkdir "$cache/nodes" || exit 1
fi
here=$cache/nodes/@KEY@
state=have
[ -x "$here/kgen" ] || state=need
echo "kgen-node $state $(uname -s) $(uname -m)"
if [ $state = need ]; then
  read -r size && new=$(mktemp -d "$cache/nodes/new.XXXXXX") || exit 1
  if ! head -c "$size" | tar -xf - -C "$new"; then rm -rf "$new"; exit 1; fi
  mv "$new" "$here" 2>/dev/null
  rm -rf "$new" "$here/${new##*/}"
fi
touch "$here"
find "$cache/nodes" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {} + 2>/dev/null
[ -n "$own" ] || exec "$here/kgen" node "$cache"
"$here/kgen" node "$cache"
status=$?
rm -rf "$own"
exit $status
}
