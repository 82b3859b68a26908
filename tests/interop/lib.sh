# What the scripts of the tools share. Everything installed stands under target/interop/, one folder a tool.

INTEROP_TARGET=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/target/interop

# The virtual environment of a tool, with the requirements in this folder: `python_tools NAME`.
python_tools() {
    local tools="$INTEROP_TARGET/$1"
    if ! cmp --silent requirements.txt "$tools/installed"; then
        rm -rf "$tools"
        mkdir -p "$INTEROP_TARGET"
        python3 -m venv "$tools"
        "$tools/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement requirements.txt
        cp requirements.txt "$tools/installed"
    fi
    export PATH="$tools/bin:$PATH"
}

# The npm packages in this folder's lock: `node_tools NAME`. They bring a Node.js of their own, since that of a Debian
# release may be too old for them.
node_tools() {
    local tools="$INTEROP_TARGET/$1" node
    if ! cmp --silent package-lock.json "$tools/installed"; then
        rm -rf "$tools"
        mkdir -p "$tools"
        cp package.json package-lock.json "$tools"
        npm ci --prefix "$tools" --ignore-scripts --no-audit --no-fund --loglevel=error
        cp package-lock.json "$tools/installed"
    fi
    for node in "$tools"/node_modules/node-*/bin; do
        [ -x "$node/node" ] && PATH="$node:$PATH"
    done
    export PATH="$tools/node_modules/.bin:$PATH"
}

# Debian packages: `debian_packages PACKAGE...` where the package is a program of its own name, and `PROGRAM=PACKAGE` or
# `FILE=PACKAGE` where it is not. Needs root or sudo where one is missing.
debian_packages() {
    local each missing=() as_root=()
    for each in "$@"; do
        command -v "${each%=*}" >/dev/null || [ -e "${each%=*}" ] || missing+=("${each#*=}")
    done
    [ "${#missing[@]}" -eq 0 ] && return
    [ "$(id -u)" -eq 0 ] || as_root=(sudo)
    "${as_root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
}
